"""Embeddings of any model, without touching it: what flows into its last linear layer."""

from __future__ import annotations

import contextlib
import functools
import weakref
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import torch
from torch import nn

from tailormix import checks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import Tensor

P = ParamSpec("P")
T = TypeVar("T")
FEATURES_LAST = (nn.Linear, nn.LayerNorm, nn.MultiheadAttention, nn.TransformerEncoderLayer)
# The linear layer that ran last in a model's first pass, among which linear layers.
_LAST_LINEAR: weakref.WeakKeyDictionary[nn.Module, tuple[str, list[str]]] = weakref.WeakKeyDictionary()


def outside_compiled_code(function: Callable[P, T]) -> Callable[P, T]:
    """The function, left out where its caller is compiled, since compiled code ignores hooks added later."""

    @functools.wraps(function)
    def call(*arguments: P.args, **named: P.kwargs) -> T:
        # Not as a decorator, which would import the compiler together with the library.
        untraced: Callable[P, T] = torch.compiler.disable(function)  # type: ignore[no-untyped-call]
        return untraced(*arguments, **named)

    return call


@outside_compiled_code
def embed(model: nn.Module, x: Tensor, layer: str | None = None, update_statistics: bool = False) -> Tensor:
    """h(x): the input of the model's last linear layer, pooled and flattened, for every sample.

    One forward pass without gradient. Dropout is off. BatchNorm layers in training mode use the statistics of
    the batch, as in the step itself, but their running statistics and counters come out as they went in.
    Where a model declares that it takes ``any_memory_format``, images pass in channels-last on a CPU, which
    takes two fifths less time.

    Args:
        model: any module; compiled and wrapped (DDP) ones are unwrapped for this pass.
        x: inputs (n, ...).
        layer: name of the layer whose input is wanted, as in ``model.named_modules()``. By default
            ``model.embedding_layer`` if the model declares it, else the last ``nn.Linear`` that runs.
        update_statistics: let the pass update BatchNorm's running statistics, as the released code does.

    Returns:
        (n, d), detached.

    >>> model = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))
    >>> embed(model, torch.zeros(4, 3)).shape
    torch.Size([4, 5])

    """
    inner = unwrap(model)
    if x.is_cpu and x.dim() == 4 and getattr(inner, "any_memory_format", False) and not checks.TRUSTING.get():
        x = x.contiguous(memory_format=torch.channels_last)
    with torch.no_grad(), _measuring(inner, update_statistics), catch_input(inner, layer, len(x)) as caught:
        inner(x)
    return caught()


def unwrap(model: nn.Module) -> nn.Module:
    """The module inside ``torch.compile`` and the data-parallel wrappers."""
    while True:
        inner = getattr(model, "_orig_mod", None)
        if inner is None and isinstance(model, (nn.parallel.DistributedDataParallel, nn.DataParallel)):
            inner = model.module
        if inner is None:
            return model
        model = inner


def find_layer(model: nn.Module, name: str) -> nn.Module:
    """The layer of that name, as in ``model.named_modules()``."""
    layers: dict[str, nn.Module] = dict(unwrap(model).named_modules())
    if name not in layers:
        checks.known("layer", name, [key for key in layers if key])
    return layers[name]


def embedding_layers(model: nn.Module, name: str | None) -> dict[str, nn.Module]:
    """The layer whose input is the embedding; or all linear layers, of which it is the last one to run."""
    name = name or getattr(model, "embedding_layer", None)
    layers: dict[str, nn.Module] = dict(model.named_modules())
    if name is not None:
        return {name: layers[name] if name in layers else find_layer(model, name)}
    linear = [key for key, module in layers.items() if isinstance(module, nn.Linear)]
    if not linear:
        raise ValueError(
            f"{type(model).__name__} has no nn.Linear layer to take embeddings from: pass "
            "embedding_layer= with the name of a layer whose input they are, or use space='input'"
        )
    last, among = _LAST_LINEAR.get(model, ("", []))
    return {key: layers[key] for key in ([last] if among == linear else linear)}


@contextlib.contextmanager
def catch_input(model: nn.Module, layer: str | None, rows: int) -> Iterator[Callable[[], Tensor]]:
    """While open, record what flows into a layer; the function it gives returns that afterwards, (n, d).

    ``model`` is unwrapped, whatever runs it.
    """
    layers = embedding_layers(model, layer)
    ran: list[str] = []
    caught: list[Tensor] = []

    def record(name: str, module: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        value = arguments[0] if arguments else next(iter(named.values()))
        ran.append(name)
        caught[:] = [_pooled(value.detach(), features_last=isinstance(module, FEATURES_LAST))]

    def result() -> Tensor:
        name = ran[-1] if ran else next(reversed(layers))
        _check_fired(name, ran.count(name), tuple(caught[0].shape) if caught else (), rows)
        if len(layers) > 1:
            _LAST_LINEAR[model] = name, list(layers)
        return caught[0]

    handles = [
        module.register_forward_pre_hook(functools.partial(record, name), with_kwargs=True)
        for name, module in layers.items()
    ]
    try:
        with torch.compiler.set_stance("force_eager"):  # compiled modules ignore hooks that are added later
            yield result
    finally:
        for handle in handles:
            handle.remove()


@contextlib.contextmanager
def rewrite_output(
    model: nn.Module, layer: str, change: Callable[[Tensor], Tensor], rows: int | None = None
) -> Iterator[None]:
    """While open, the output of one layer is replaced by ``change(output)``; it must run once per pass."""
    name, module = layer, find_layer(model, layer)
    fired: list[tuple[int, ...]] = []

    def replace_output(_: nn.Module, __: tuple[Any, ...], output: Any) -> Any:
        if not isinstance(output, torch.Tensor):
            raise TypeError(f"layer {name!r} must return a tensor to be mixed, got {type(output).__name__}")
        fired.append(tuple(output.shape))
        _check_fired(name, len(fired), fired[0], rows)
        return change(output)

    handle = module.register_forward_hook(replace_output)
    try:
        with torch.compiler.set_stance("force_eager"):
            yield
    finally:
        handle.remove()
    _check_fired(name, len(fired), fired[0] if fired else (), rows)


@contextlib.contextmanager
def _measuring(model: nn.Module, update_statistics: bool) -> Iterator[None]:
    """Everything in eval mode, but for norm layers in training mode, which see the batch."""
    modules: list[Any] = list(model.modules())
    modes = [module.training for module in modules]
    tracking = [m for m in modules if m.training and getattr(m, "track_running_stats", False)]
    statistics = [(m.running_mean, m.running_var) for m in tracking]
    try:
        for module in modules:
            module.training = False
        for module in tracking:
            module.training, module.track_running_stats = True, update_statistics
            if not update_statistics:
                # InstanceNorm writes to its running statistics even when told not to track them: hide them.
                module.running_mean = module.running_var = None
        yield
    finally:
        for module, mode in zip(modules, modes, strict=True):
            module.training = mode
        for module, (mean, variance) in zip(tracking, statistics, strict=True):
            module.track_running_stats = True
            module.running_mean, module.running_var = mean, variance


def _pooled(value: Tensor, *, features_last: bool) -> Tensor:
    """(n, ...) → (n, d): averages over positions, which lie before the features of linear layers."""
    if value.dim() <= 2:
        return value.reshape(value.shape[0], -1)
    return value.flatten(1, -2).mean(1) if features_last else value.flatten(2).mean(2)


def _check_fired(name: str, times: int, shape: tuple[int, ...], rows: int | None) -> None:
    if times != 1:
        raise ValueError(
            f"layer {name!r} must run exactly once in a forward pass, but ran {times} times: name another"
        )
    if rows is not None and shape[:1] != (rows,):
        raise ValueError(
            f"layer {name!r} must see {rows} rows, one per sample, but saw shape {shape}: name another"
        )
