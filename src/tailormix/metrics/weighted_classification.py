"""Every classification metric as a function of weights, from per-sample statistics and class-wise tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from tailormix.metrics.adaptive_calibration import equal_mass_error
from tailormix.metrics.bins import bin_index, calibration_error, debiased_error
from tailormix.metrics.classwise_calibration import classwise_error
from tailormix.metrics.weighted import Weighted, cached_last, cell_sums, mean, sparse, times

if TYPE_CHECKING:
    from collections.abc import Callable

    from tailormix.metrics.classwise import ClasswiseTable
    from tailormix.metrics.groups import Groups
    from tailormix.metrics.rows import Rows

MOST_LEVELS = 4096


def weighted_classification(
    rows: Rows,
    groups: Groups,
    *,
    n_bins: int = 15,
    norm: str = "l1",
    table: ClasswiseTable | None = None,
    positive: bool = False,
) -> dict[str, Weighted]:
    """Return every classification metric of these rows; class-wise ECE where its table is given."""
    cells = bin_index(rows.confidence, n_bins)
    values = torch.stack([torch.ones_like(rows.confidence), rows.confidence, rows.event], dim=1).double()
    sums = cached_last(cell_sums(cells[:, None], values[:, None], n_bins, groups))

    def binned(finish: Callable[[torch.Tensor], torch.Tensor]) -> Weighted:
        return Weighted(groups.units, lambda weights: finish(sums(weights)))

    found = {
        "accuracy": mean(rows.hit, groups),
        "nll": mean(rows.nll, groups),
        "brier": mean(rows.brier, groups),
        "ece": binned(lambda s: calibration_error(s, norm)),
        "aece": weighted_adaptive(rows, n_bins, groups),
        "debiased_ece": binned(debiased_error),
        "mce": binned(lambda s: calibration_error(s, "max")),
    }
    if table is not None:
        found["classwise_ece"] = weighted_classwise(table, norm, positive)
    return found


def weighted_adaptive(rows: Rows, n_bins: int, groups: Groups) -> Weighted:
    """Return AECE: weights are summed at every level of confidence, then the runs are cut.

    Grouped points are too many to sort anew, so their confidences are rounded to 4096 levels of equal mass.
    """
    levels, at = torch.unique(rows.confidence.double(), return_inverse=True)
    if not groups.single and len(levels) > MOST_LEVELS:
        at = at * MOST_LEVELS // len(levels)
        total = torch.zeros(MOST_LEVELS, dtype=torch.float64).index_add_(0, at, rows.confidence.double())
        levels = total / torch.bincount(at, minlength=MOST_LEVELS)
    values = torch.stack([torch.ones(len(rows), dtype=torch.float64), rows.event.double()], dim=1)
    if groups.single and len(levels) == len(rows):
        return _adaptive_without_ties(levels, at, rows.event.double(), n_bins)
    sums = cell_sums(at[:, None], values[:, None], len(levels), groups)

    def value(weights: torch.Tensor) -> torch.Tensor:
        count, events = sums(weights).unbind(2)
        return equal_mass_error(levels, count.contiguous(), events, n_bins)

    return Weighted(groups.units, value)


def _adaptive_without_ties(
    levels: torch.Tensor, at: torch.Tensor, event: torch.Tensor, n_bins: int
) -> Weighted:
    """One sample a level: sorting the weights is all there is to sum."""
    order = torch.argsort(at)
    happened = event[order]

    def value(weights: torch.Tensor) -> torch.Tensor:
        count = weights[:, order]
        return equal_mass_error(levels, count, count * happened, n_bins)

    return Weighted(len(order), value)


def weighted_classwise(table: ClasswiseTable, norm: str, positive: bool) -> Weighted:
    """Return class-wise ECE: sums beyond the first bin are sparse, and the first bin is what is left."""
    assert table.totals is not None
    bins, classes, groups, totals = table.n_bins, table.num_classes, table.groups, table.totals
    assert groups is not None
    beyond = _entries(table, groups)
    targets = torch.cat(table.targets)
    ones = torch.ones(len(targets), 1, dtype=torch.float64)
    happened = sparse(groups.index, targets, ones, (groups.units, classes))
    size = groups.sums(ones)[:, 0]

    def error(weights: torch.Tensor) -> torch.Tensor:
        sums = times(weights, beyond).view(len(weights), classes, bins, 3)
        count = (weights @ size)[:, None].expand(-1, classes)
        every = torch.stack([count, weights @ totals, times(weights, happened)], dim=2)
        sums[:, :, 0] = every - sums[:, :, 1:].sum(2)
        return classwise_error(sums[:, 1:] if positive else sums, norm)

    return Weighted(groups.units, error)


def _entries(table: ClasswiseTable, groups: Groups) -> object:
    """Return the sparse (units, C · B · 3) table of the probabilities beyond the first bin."""
    row, cell, value, event = table.entries()
    values = torch.stack([torch.ones_like(value), value, event], dim=1)
    column = cell[:, None] * 3 + torch.arange(3)
    shape = (groups.units, table.num_classes * table.n_bins * 3)
    return sparse(groups.index[row][:, None].expand_as(column), column, values, shape)
