"""Embeddings of any model, without touching it: what flows into its last linear layer."""

from __future__ import annotations

import contextlib
import functools
import weakref
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from tailormix import checks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import Tensor

_LAST_LINEAR: weakref.WeakKeyDictionary[nn.Module, str] = weakref.WeakKeyDictionary()  # found in a first pass
FEATURES_LAST = (nn.Linear, nn.LayerNorm, nn.MultiheadAttention, nn.TransformerEncoderLayer)


def embed(model: nn.Module, x: Tensor, layer: str | None = None) -> Tensor:
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

    Returns:
        (n, d), detached.

    >>> model = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))
    >>> embed(model, torch.zeros(4, 3)).shape
    torch.Size([4, 5])

    """
    inner = unwrap(model)
    if checks.readable(x) and x.dim() == 4 and getattr(inner, "any_memory_format", False):
        x = x.contiguous(memory_format=torch.channels_last)
    with torch.no_grad(), _without_side_effects(inner), catch_input(inner, layer, rows=x.shape[0]) as caught:
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
    inner = unwrap(model)
    name = name or getattr(inner, "embedding_layer", None) or _LAST_LINEAR.get(inner)
    layers: dict[str, nn.Module] = dict(inner.named_modules())
    if name in layers:
        return {name: layers[name]}
    if name is not None:
        find_layer(inner, name)  # which says what there is
    linear = {key: module for key, module in layers.items() if isinstance(module, nn.Linear)}
    if not linear:
        raise ValueError(
            f"{type(inner).__name__} has no nn.Linear layer to take embeddings from: pass "
            "embedding_layer= with the name of a layer whose input they are, or use space='input'"
        )
    return dict(linear)


@contextlib.contextmanager
def catch_input(model: nn.Module, layer: str | None, rows: int) -> Iterator[Callable[[], Tensor]]:
    """While open, record what flows into a layer; the function it gives returns that afterwards, (n, d)."""
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
            _LAST_LINEAR[unwrap(model)] = name
        return caught[0]

    handles = [
        module.register_forward_pre_hook(functools.partial(record, name), with_kwargs=True)
        for name, module in layers.items()
    ]
    try:
        with run_eagerly():
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
        with run_eagerly():
            yield
    finally:
        handle.remove()
    _check_fired(name, len(fired), fired[0] if fired else (), rows)


def run_eagerly() -> contextlib.AbstractContextManager[Any]:
    """While open, compiled modules run eagerly: they ignore hooks that are added after compilation."""
    if torch.compiler.is_compiling():
        return contextlib.nullcontext()
    stance: contextlib.AbstractContextManager[Any] = torch.compiler.set_stance("force_eager")
    return stance


@contextlib.contextmanager
def _without_side_effects(model: nn.Module) -> Iterator[None]:
    """Everything in eval mode, but for norm layers in training mode, which see the batch and forget it."""
    modules: list[Any] = list(model.modules())
    modes = [module.training for module in modules]
    tracking = [m for m in modules if m.training and getattr(m, "track_running_stats", False)]
    statistics = [(m.running_mean, m.running_var) for m in tracking]
    try:
        for module in modules:
            module.training = False
        for module in tracking:
            module.training, module.track_running_stats = True, False
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
