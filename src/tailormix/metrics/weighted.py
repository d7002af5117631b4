"""A metric as a function of how often each sample counts: what the bootstrap and the paired test vary.

Nothing is resampled but weights (r, n). Means are products W x; binned metrics are functions of bin sums W
S, with S a sparse table of each sample's contribution; AECE walks along the sorted confidences.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from tailormix.metrics.groups import Groups


@dataclass(frozen=True, eq=False)
class Weighted:
    """``value(weights)`` maps (r, units) float64 weights to (r,) values of the metric."""

    units: int
    value: Callable[[torch.Tensor], torch.Tensor]


def mean(values: torch.Tensor, groups: Groups) -> Weighted:
    """Return the weighted mean of (n,) values."""
    parts = torch.stack([values.double(), torch.ones_like(values, dtype=torch.float64)], dim=1)
    return ratio(groups.sums(parts))


def ratio(parts: torch.Tensor, finish: Callable[[torch.Tensor], torch.Tensor] | None = None) -> Weighted:
    """Return Σ w a / Σ w b of ``parts`` (n, 2), then ``finish``."""

    def value(weights: torch.Tensor) -> torch.Tensor:
        total, count = (weights @ parts).unbind(1)
        return total / count if finish is None else finish(total / count)

    return Weighted(len(parts), value)


def cell_sums(
    cells: torch.Tensor, values: torch.Tensor, n_cells: int, groups: Groups
) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return weights (r, units) → sums (r, n_cells, K) of values (n, D, K) that lie in cells (n, D)."""
    kinds = values.shape[-1]
    column = cells[..., None] * kinds + torch.arange(kinds)
    row = groups.index[:, None, None].expand_as(column)
    table = sparse(row, column, values, (groups.units, n_cells * kinds))
    return lambda weights: times(weights, table).view(len(weights), n_cells, kinds)


def sparse(row: torch.Tensor, column: torch.Tensor, values: torch.Tensor, shape: tuple[int, int]) -> Any:
    """Return a scipy table of ``values`` at (row, column), equal positions added."""
    from scipy.sparse import csr_matrix

    where = (row.reshape(-1).numpy(), column.reshape(-1).numpy())
    return csr_matrix((values.reshape(-1).numpy(), where), shape=shape)


def times(weights: torch.Tensor, table: Any) -> torch.Tensor:
    """Return the dense product of weights (r, n) and a sparse table (n, K)."""
    return torch.from_numpy((table.T @ weights.numpy().T).T.copy())


def cached_last(function: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[torch.Tensor], torch.Tensor]:
    """Remember the last answer: several metrics are finished from the same bin sums."""
    last: list[tuple[torch.Tensor, torch.Tensor]] = []

    def remembered(weights: torch.Tensor) -> torch.Tensor:
        if not last or last[0][0] is not weights:
            last[:] = [(weights, function(weights))]
        return last[0][1]

    return remembered
