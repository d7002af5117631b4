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


TOGETHER, ALIGNMENT = 2**20, 64  # bytes that a cache holds, and that memory begins at multiples of


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
        rows = [indices for indices, _ in plan]
        together = self._together([len(indices) for indices in rows])
        for first in range(0, len(rows), together):
            chunk = rows[first : first + together]
            sizes = [len(indices) for indices in chunk]
            x, y = self.batch(torch.cat(chunk))
            yield from zip(torch.split(x, sizes), torch.split(y, sizes), strict=True)

    def _together(self, sizes: list[int]) -> int:
        """How many batches to take at once: one, unless all would begin where memory of their own does.

        Elsewhere matrix products may round otherwise, and then a run that goes on from the middle of an epoch
        would not end like one that was never stopped.
        """
        size = max(sizes, default=0)
        widths = [math.prod(each.shape[1:]) * each.itemsize for each in (self.inputs, self.targets)]
        if any(each != size for each in sizes[:-1]) or any(size * width % ALIGNMENT for width in widths):
            return 1
        return max(TOGETHER // max(size * sum(widths), 1), 1)

    def to(self, device: torch.device | str) -> MemorySplit:
        """Return the split on ``device``."""
        moved = None if self.transform is None else self.transform.to(device)
        return MemorySplit(self.inputs.to(device), self.targets.to(device), self.ids.to(device), moved)
