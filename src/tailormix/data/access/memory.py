"""Splits that live in memory, on the training device."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from .augment import ImageTransform
    from .record import BatchPlan


TOGETHER = 2**18  # numbers that fit into a cache


@final
@dataclass(frozen=True, eq=False)
class MemorySplit:
    """Inputs (n, ...) and targets as tensors; images stay uint8 and are transformed in batches.

    >>> split = MemorySplit(torch.eye(3), torch.tensor([0, 1, 2]), torch.tensor([7, 8, 9]))
    >>> x, y = split.batch(torch.tensor([2, 2]))
    >>> y.tolist()
    [2, 2]
    """

    inputs: Tensor
    targets: Tensor
    ids: Tensor
    transform: ImageTransform | None = None

    def __post_init__(self) -> None:
        if not len(self.inputs) == len(self.targets) == len(self.ids):
            raise ValueError(
                f"inputs, targets and ids must be equally many, got {len(self.inputs)}, "
                f"{len(self.targets)} and {len(self.ids)}"
            )

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one input."""
        return tuple(self.inputs.shape[1:])

    def __len__(self) -> int:
        return len(self.ids)

    def batch(self, indices: Tensor, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
        """Return (x, y) of the rows at positions ``indices``; see :class:`.record.Split`."""
        indices = indices.to(self.inputs.device, non_blocking=True)
        x, y = self.inputs.index_select(0, indices), self.targets.index_select(0, indices)
        return (x if self.transform is None else self.transform(x, generator)), y

    def batches(self, plan: BatchPlan, workers: int = 0) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the batches of the plan; workers would only slow it down."""
        del workers
        if self.transform is None:
            yield from self._plain(plan)
            return
        for indices, seed in plan:
            yield self.batch(indices, torch.Generator().manual_seed(seed))

    def _plain(self, plan: BatchPlan) -> Iterator[tuple[Tensor, Tensor]]:
        """Likewise for rows as they are: many small batches are taken at once, and cut apart."""
        plan = list(plan)
        numbers = max((len(indices) for indices, _ in plan), default=0) * math.prod(self.input_shape)
        together = max(TOGETHER // max(numbers, 1), 1)
        for first in range(0, len(plan), together):
            rows = [indices for indices, _ in plan[first : first + together]]
            sizes = [len(indices) for indices in rows]
            x, y = self.batch(torch.cat(rows))
            yield from zip(torch.split(x, sizes), torch.split(y, sizes), strict=True)

    def to(self, device: torch.device | str) -> MemorySplit:
        """Return the split on ``device``."""
        moved = None if self.transform is None else self.transform.to(device)
        return MemorySplit(self.inputs.to(device), self.targets.to(device), self.ids.to(device), moved)
