"""Outputs of a model for a whole split, each rank doing its share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import distributed, nn

from tailormix.posthoc.dropout import predict

from .sampling import share
from .seeds import Stream, derive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lightning_fabric import Fabric
    from torch import Tensor

    from tailormix.data import Split

    from .settings import Settings

ROWS = 1024  # at a time: large enough for speed, small enough for a series of 321 clients


def agree_on_buffers(model: nn.Module, fabric: Fabric) -> None:
    """Give every rank the buffers of the first: running statistics of BatchNorm differ after a step."""
    if fabric.world_size > 1:
        for buffer in model.buffers():
            distributed.broadcast(buffer, 0)


@torch.no_grad()
def outputs(model: nn.Module, split: Split, fabric: Fabric, settings: Settings) -> Tensor:
    """Predictions (n, outputs) of the deterministic pass, on the CPU, in the order of the split."""
    model.eval()
    try:
        with fabric.autocast():
            mine = [model(x).float() for x in _inputs(split, fabric, settings)]
    finally:
        model.train()
    return _gathered(mine, len(split), fabric)


def monte_carlo(model: nn.Module, split: Split, fabric: Fabric, settings: Settings) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation (n, outputs) over passes with dropout; the random state is left alone."""
    means, stds = [], []
    for number, x in enumerate(_inputs(split, fabric, settings)):
        seed = derive(settings.seed, Stream.DROPOUT, number, fabric.global_rank)
        found = predict(model, x, samples=settings.mc_samples, seed=seed)
        means.append(found.mean)
        stds.append(found.std)
    return _gathered(means, len(split), fabric), _gathered(stds, len(split), fabric)


def has_dropout(model: nn.Module) -> bool:
    """Whether passes can differ at all."""
    return any(getattr(module, "p", 0) > 0 for module in model.modules() if _is_dropout(module))


def _is_dropout(module: nn.Module) -> bool:
    return isinstance(module, nn.modules.dropout._DropoutNd)


def _inputs(split: Split, fabric: Fabric, settings: Settings) -> Iterator[Tensor]:
    rows = share(torch.arange(len(split)), fabric.global_rank, fabric.world_size)
    plan = [(part, 0) for part in torch.split(rows, ROWS) if len(part)]
    return (x for x, _ in split.batches(plan, settings.workers))


def _gathered(mine: list[Tensor], rows: int, fabric: Fabric) -> Tensor:
    """All ranks' rows in their order; parts of unequal length travel padded."""
    own = torch.cat(mine) if mine else torch.empty(0)
    if fabric.world_size == 1:
        return own.cpu()
    lengths = [len(share(torch.arange(rows), rank, fabric.world_size)) for rank in range(fabric.world_size)]
    padded = own.new_zeros(max(lengths), *own.shape[1:])
    padded[: len(own)] = own
    gather: Callable[[Tensor], Tensor] = fabric.all_gather  # type: ignore[assignment]
    parts = gather(padded)
    return torch.cat([part[:length] for part, length in zip(parts, lengths, strict=True)]).cpu()
