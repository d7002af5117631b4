"""A metric as a function of how often each sample counts: what the bootstrap and the paired test vary.

Nothing is resampled but weights (r, n). Means are products W x; binned metrics are functions of bin sums W
S, with S a sparse table of each sample's contribution; AECE walks along the sorted confidences.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from tailormix.metrics.adaptive_calibration import equal_mass_error
from tailormix.metrics.bins import bin_index, calibration_error, debiased_error
from tailormix.metrics.classwise_calibration import classwise_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from tailormix.metrics.classwise import ClasswiseTable
    from tailormix.metrics.rows import Rows


@dataclass(frozen=True, eq=False)
class Weighted:
    """``value(weights)`` maps (r, units) float64 weights to (r,) values of the metric."""

    units: int
    value: Callable[[torch.Tensor], torch.Tensor]


def classification(
    rows: Rows,
    *,
    n_bins: int = 15,
    norm: str = "l1",
    table: ClasswiseTable | None = None,
    positive: bool = False,
) -> dict[str, Weighted]:
    """Return every classification metric of these rows; class-wise ECE where its table is given."""
    cells = bin_index(rows.confidence, n_bins)
    values = torch.stack([torch.ones_like(rows.confidence), rows.confidence, rows.event], dim=1).double()
    sums = cached_last(cell_sums(cells[:, None], values[:, None], n_bins))

    def binned(finish: Callable[[torch.Tensor], torch.Tensor]) -> Weighted:
        return Weighted(len(rows), lambda weights: finish(sums(weights)))

    found = {
        "accuracy": mean(rows.hit),
        "nll": mean(rows.nll),
        "brier": mean(rows.brier),
        "ece": binned(lambda s: calibration_error(s, norm)),
        "aece": _adaptive(rows, n_bins),
        "debiased_ece": binned(debiased_error),
        "mce": binned(lambda s: calibration_error(s, "max")),
    }
    if table is not None:
        found["classwise_ece"] = _classwise(table, norm, positive)
    return found


def mean(values: torch.Tensor) -> Weighted:
    """Return the weighted mean of (n,) values."""
    return ratio(torch.stack([values.double(), torch.ones_like(values, dtype=torch.float64)], dim=1))


def ratio(parts: torch.Tensor, finish: Callable[[torch.Tensor], torch.Tensor] | None = None) -> Weighted:
    """Return Σ w a / Σ w b of ``parts`` (n, 2), then ``finish``."""

    def value(weights: torch.Tensor) -> torch.Tensor:
        total, count = (weights @ parts).unbind(1)
        return total / count if finish is None else finish(total / count)

    return Weighted(len(parts), value)


def cell_sums(
    cells: torch.Tensor, values: torch.Tensor, n_cells: int
) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return weights (r, n) → sums (r, n_cells, K) of ``values`` (n, D, K) that lie in ``cells`` (n, D)."""
    kinds = values.shape[-1]
    column = cells[..., None] * kinds + torch.arange(kinds)
    row = torch.arange(len(cells))[:, None, None].expand_as(column)
    table = sparse(row, column, values, (len(cells), n_cells * kinds))
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


def _adaptive(rows: Rows, n_bins: int) -> Weighted:
    levels, group = torch.unique(rows.confidence.double(), return_inverse=True)
    order = torch.argsort(group)
    ends = torch.bincount(group).cumsum(0) - 1
    event = rows.event.double()[order]

    def at_levels(weights: torch.Tensor) -> torch.Tensor:
        return torch.diff(
            weights.cumsum(1)[:, ends], prepend=torch.zeros(len(weights), 1, dtype=torch.float64), dim=1
        )

    def value(weights: torch.Tensor) -> torch.Tensor:
        weights = weights[:, order]
        if len(levels) == len(order):
            return equal_mass_error(levels, weights, weights * event, n_bins)
        return equal_mass_error(levels, at_levels(weights), at_levels(weights * event), n_bins)

    return Weighted(len(rows), value)


def _classwise(table: ClasswiseTable, norm: str, positive: bool) -> Weighted:
    assert table.totals is not None
    bins, classes, units = table.n_bins, table.num_classes, table.num_groups
    group = torch.zeros(table.rows_seen, dtype=torch.long) if table.groups is None else table.groups
    row, cell, value, event = table.entries()
    beyond = cell_sums_of_entries(
        group[row], cell, torch.stack([torch.ones_like(value), value, event], 1), units, table
    )
    targets = torch.cat(table.targets)
    happened = sparse(group, targets, torch.ones(len(targets), dtype=torch.float64), (units, classes))
    size = torch.bincount(group, minlength=units).double()
    totals = table.totals

    def error(weights: torch.Tensor) -> torch.Tensor:
        sums = times(weights, beyond).view(len(weights), classes, bins, 3)
        count = (weights @ size)[:, None].expand(-1, classes)
        every = torch.stack([count, weights @ totals, times(weights, happened)], dim=2)
        sums[:, :, 0] = every - sums[:, :, 1:].sum(2)
        return classwise_error(sums[:, 1:] if positive else sums, norm)

    return Weighted(units, error)


def cell_sums_of_entries(
    group: torch.Tensor, cell: torch.Tensor, values: torch.Tensor, units: int, table: ClasswiseTable
) -> Any:
    """Return the sparse (units, C · B · 3) table of the entries beyond the first bin."""
    column = cell[:, None] * 3 + torch.arange(3)
    return sparse(
        group[:, None].expand_as(column), column, values, (units, table.num_classes * table.n_bins * 3)
    )
