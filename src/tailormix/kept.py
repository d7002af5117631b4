"""What is made once and kept, and when values may be looked at: small batches pay for every operation."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, TypeVar

import torch
from torch.autograd import forward_ad
from torch.compiler import is_compiling, is_dynamo_compiling

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor


_functions_transformed: Callable[[], bool] = torch._C._are_functorch_transforms_active
is_batched: Callable[[Tensor], bool] = torch._C._functorch.is_batchedtensor
T = TypeVar("T")
PRECISE = (torch.float32, torch.float64)


def transformed() -> bool:
    """Whether transforms of ``torch.func`` or forward derivatives are at work: some operations lack them."""
    return _functions_transformed() or forward_ad._current_level >= 0


def readable(tensor: Tensor) -> bool:
    """Whether looking at values is free: on the CPU, outside compilation, and not within ``torch.func.vmap``.

    Elsewhere a look would synchronise the device or break the graph, so values are trusted there.
    """
    return tensor.is_cpu and not is_compiling() and not is_batched(tensor)


def kept(make: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Keep the tensors that a function of hashable arguments makes; the compiler takes them as constants.

    One compiled graph can hold one of them; where it may need several, use :func:`kept_outside`.

    >>> kept(lambda n: torch.arange(n))(3)
    tensor([0, 1, 2])
    """
    remembered = remembering(make, at_most=64)

    def call(*arguments: object) -> Tensor:
        return remembered(*arguments)

    call.forget = remembered.cache_clear  # type: ignore[attr-defined]
    return functools.update_wrapper(_marked(call, make.__name__), make)


def kept_outside(make: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Likewise, for what is made in no time: compiled graphs make it anew, and fuse that with the rest.

    >>> kept_outside(lambda n: torch.arange(n))(3)
    tensor([0, 1, 2])
    """
    remembered = remembering(make, at_most=64)

    def call(*arguments: object) -> Tensor:
        return make(*arguments) if is_dynamo_compiling() else remembered(*arguments)

    return functools.update_wrapper(call, make)


def remembering(make: Callable[..., T], at_most: int | None = None) -> functools._lru_cache_wrapper[T]:
    """Likewise, for what no compiled graph asks for; without a limit, asking costs least."""

    @functools.wraps(make)
    def plainly(*arguments: object) -> T:
        # Made outside inference mode, and by no mode that fakes tensors, it serves calls within and without.
        from torch.utils._python_dispatch import _disable_current_modes

        with torch.inference_mode(False), _disable_current_modes():
            return make(*arguments)

    return functools.lru_cache(maxsize=at_most)(plainly)


def scalar(value: float, like: Tensor) -> Tensor | float:
    """``value`` in the form that is cheapest beside ``like``.

    On the CPU, torch makes a tensor of a Python number and casts it, in every operation anew, which takes
    longer than the operation itself on a hundred numbers. There a tensor kept from before stands for it.

    >>> torch.rand(3).mul_(scalar(0.0, torch.rand(3)))
    tensor([0., 0., 0.])
    """
    # Half precision stays as it is: torch computes in float32 there, and a kept number would be rounded.
    if like.is_cpu and like.dtype in PRECISE and not is_compiling():
        return number(value, like.dtype)
    return value


def constant(name: str, value: float) -> Callable[[], Tensor]:
    """A function that gives one number, which float32 holds, in the form of :func:`scalar`, at less cost.

    >>> torch.rsub(torch.tensor([0.25]), one())
    tensor([0.7500])
    """
    with torch.inference_mode(False):
        number = torch.tensor(value, dtype=torch.float32, device="cpu")
    return _marked(lambda: number, name)


def _marked(call: Callable[..., Tensor], name: str) -> Callable[..., Tensor]:
    """``call``, with the mark that torch.compiler.assume_constant_result sets, but without the compiler."""
    call.__code__ = call.__code__.replace(co_name=name)  # by which the compiler tells constants apart
    call._dynamo_marked_constant = True  # type: ignore[attr-defined]
    return call


one = constant("one", 1.0)


def _number(value: float, dtype: torch.dtype) -> Tensor:
    """A number as a tensor of the CPU, kept."""
    return torch.tensor(value, dtype=dtype, device="cpu")


number = remembering(_number, at_most=256)
