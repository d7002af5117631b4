"""Windows of multivariate series, cut when they are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import torch

from tailormix.kept import readable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from .record import BatchPlan


@final
@dataclass(frozen=True, eq=False)
class WindowSplit:
    """x = values[t - h - P + 1 … t - h], y = values[t] for each target row t: (n, P, m) and (n, m).

    ``ids`` (n,) are the target rows t; ``values`` (T, m) is shared by all splits and never
    copied into windows as a whole.

    >>> split = WindowSplit(torch.arange(6.0)[:, None], torch.tensor([4, 5]), window=3, horizon=2)
    >>> x, y = split.batch(torch.tensor([1]))
    >>> x.flatten().tolist(), y.tolist()
    ([1.0, 2.0, 3.0], [[5.0]])
    """

    values: Tensor
    ids: Tensor
    window: int
    horizon: int

    def __post_init__(self) -> None:
        first = self.window + self.horizon - 1
        if len(self.ids) and readable(self.ids) and int(self.ids.min()) < first:
            raise ValueError(f"ids must be >= window + horizon - 1 = {first}, got {int(self.ids.min())}")

    @property
    def targets(self) -> Tensor:
        """All targets, (n, m)."""
        return self.values[self.ids]

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one window, (P, m)."""
        return (self.window, self.values.shape[1])

    def __len__(self) -> int:
        return len(self.ids)

    def batch(self, indices: Tensor, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
        """Return (x, y) of the targets at positions ``indices``; nothing is drawn."""
        del generator
        rows = self.ids[indices.to(self.ids.device, non_blocking=True)]
        first = rows - self.horizon - self.window + 1
        steps = torch.arange(self.window, device=rows.device)
        return self.values[first[:, None] + steps], self.values[rows]

    def batches(self, plan: BatchPlan, workers: int = 0) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the batches of the plan; workers would only slow it down."""
        del workers
        for indices, _ in plan:
            yield self.batch(indices)

    def to(self, device: torch.device | str) -> WindowSplit:
        """Return the split on ``device``."""
        return WindowSplit(self.values.to(device), self.ids.to(device), self.window, self.horizon)
