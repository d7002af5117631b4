"""Tensors that are made once and kept: small batches pay for operations, not for arithmetic."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import torch

from tailormix import checks

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

PRECISE = (torch.float32, torch.float64)


def kept(make: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Keep the tensors that a function of hashable arguments makes; the compiler takes them as constants.

    >>> kept(lambda n: torch.arange(n))(3)
    tensor([0, 1, 2])
    """
    # Made outside inference mode, what is kept serves calls in it and out of it.
    remembered = functools.lru_cache(maxsize=64)(torch.inference_mode(False)(make))

    def call(*arguments: object) -> Tensor:
        return remembered(*arguments)

    # The compiler tells constants apart by the names in the code. The mark is the one that
    # torch.compiler.assume_constant_result sets, which itself would import the compiler.
    call.__code__ = call.__code__.replace(co_name=make.__name__)
    call._dynamo_marked_constant = True  # type: ignore[attr-defined]
    call.forget = remembered.cache_clear  # type: ignore[attr-defined]
    return functools.update_wrapper(call, make)


def scalar(value: float, like: Tensor) -> Tensor | float:
    """``value`` in the form that is cheapest beside ``like``.

    On the CPU, torch makes a tensor of a Python number and casts it, in every operation anew, which takes
    longer than the operation itself on a hundred numbers. There a tensor kept from before stands for it.

    >>> torch.rand(3).mul_(scalar(0.0, torch.rand(3)))
    tensor([0., 0., 0.])
    """
    # Half precision stays as it is: torch computes in float32 there, and a kept number would be rounded.
    if like.dtype in PRECISE and checks.readable(like):
        return _number(value, like.dtype)
    return value


@functools.lru_cache(maxsize=256)
@torch.inference_mode(False)
def _number(value: float, dtype: torch.dtype) -> Tensor:
    return torch.tensor(value, dtype=dtype, device="cpu")
