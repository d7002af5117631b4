"""Metrics of weighted samples, which is how resampled ones are computed without copies.

Sums over random groups are as independent as single points are, so drawing groups gives the same intervals,
up to the noise of having fewer units, at a cost that no longer grows with n.

Nothing is resampled but weights (r, n). Means are products W x; binned metrics are functions of bin sums W
S, with S a sparse table of each sample's contribution; AECE walks along the sorted confidences.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from tailormix.metrics.binning import ClasswiseTable, bin_index, calibration_error, debiased_error
from tailormix.metrics.classification import classwise_error, equal_mass_error, join, read
from tailormix.metrics.inputs import Regressed, classified, regressed
from tailormix.metrics.registry import METRICS
from tailormix.metrics.regression import (
    absolute_parts,
    coverage_parts,
    ence_error,
    gaussian_parts,
    relative_parts,
    spread_index,
    spread_values,
    squared_parts,
    two_row_reading,
    uce_error,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tailormix.metrics.classification import Rows
    from tailormix.metrics.inputs import Array


MOST_UNITS = 20_000


@dataclass(frozen=True, eq=False)
class Groups:
    """``index`` (n,) says to which of ``units`` groups a point belongs."""

    index: torch.Tensor
    units: int

    @property
    def single(self) -> bool:
        """Whether every point is a unit of its own."""
        return self.units == len(self.index)

    def sums(self, values: torch.Tensor) -> torch.Tensor:
        """Return (units, K) sums of values (n, K)."""
        if self.single:
            return values
        return values.new_zeros(self.units, values.shape[1]).index_add_(0, self.index, values)


def resampling_groups(n: int, *, most: int | None = None, seed: int = 0, copies: int = 1) -> Groups:
    """Return groups of n points; ``copies`` of the points follow each other and have groups of their own.

    >>> resampling_groups(3, copies=2).index
    tensor([0, 1, 2, 3, 4, 5])
    """
    units = min(n, MOST_UNITS if most is None else most)
    index = torch.arange(n)
    if units < n:
        index = torch.randperm(n, generator=torch.Generator().manual_seed(seed)) % units
    return Groups(torch.cat([index + copy * units for copy in range(copies)]), copies * units)


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
    targets = table.targets.values
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


GROUP_VALUES = 2**23


def weighted_metric(metric: str, arrays: tuple[Array, ...], *, seed: int = 0, **options: Any) -> Weighted:
    """Return ``metric`` of these arrays as a function of weights."""
    return _weighted(metric, [arrays], seed, options)


def pooled_metric(
    metric: str, first: tuple[Array, ...], second: tuple[Array, ...], *, seed: int = 0, **options: Any
) -> Weighted:
    """Return ``metric`` over the units of the first model, then those of the second."""
    return _weighted(metric, [first, second], seed, options)


def _weighted(
    metric: str, models: Sequence[tuple[Array, ...]], seed: int, options: dict[str, Any]
) -> Weighted:
    if METRICS[metric].task == "classification":
        return _classification(metric, models, seed, options)
    return regression(metric, _joined(metric, models), **options)


def _classification(
    metric: str, models: Sequence[tuple[Array, ...]], seed: int, options: dict[str, Any]
) -> Weighted:
    kinds = {name: options[name] for name in ("n_bins", "norm") if name in options}
    inputs = {name: options[name] for name in ("from_logits", "binary") if name in options}
    given = [classified(*arrays, **inputs) for arrays in models]
    n, classes, copies = len(given[0]), given[0].num_classes, len(given)
    table = None
    if metric == "classwise_ece":
        table = grouped_table(n, classes, kinds.get("n_bins", 15), seed=seed, copies=copies)
    rows = join([read(one, tables=[] if table is None else [table])[0] for one in given])
    groups = resampling_groups(n, seed=seed, copies=copies)
    return weighted_classification(rows, groups, table=table, positive=given[0].positive, **kinds)[metric]


def grouped_table(n: int, classes: int, n_bins: int, *, seed: int, copies: int = 1) -> ClasswiseTable:
    """Return an empty class-wise table whose groups keep at most 64 MB of column sums."""
    most = max(2000, min(MOST_UNITS, GROUP_VALUES // classes))
    return ClasswiseTable(classes, n_bins, resampling_groups(n, most=most, seed=seed, copies=copies))


def _joined(metric: str, models: Sequence[tuple[Array, ...]]) -> Regressed:
    parts = [_checked(metric, arrays) for arrays in models]
    spread = None if parts[0].std is None else torch.cat([part.spread for part in parts])
    return Regressed(torch.cat([p.mean for p in parts]), torch.cat([p.targets for p in parts]), spread)


def _checked(metric: str, arrays: tuple[Array, ...]) -> Regressed:
    if len(arrays) == 2:
        return regressed(*arrays)
    mean, std, targets = two_row_reading(*arrays) if metric.endswith("_as_published") else arrays
    return regressed(mean, targets, std)


def regression(
    metric: str, given: Regressed, *, n_bins: int = 15, bin_by: str | None = None, level: float = 0.95
) -> Weighted:
    """Return one regression metric as a function of weights, in the bins of the full sample."""
    simple: dict[str, Callable[[], Weighted]] = {
        "rmse": lambda: ratio(squared_parts(given), torch.sqrt),
        "mae": lambda: ratio(absolute_parts(given)),
        "mape": lambda: ratio(relative_parts(given)),
        "gaussian_nll": lambda: ratio(gaussian_parts(given)),
        "coverage": lambda: ratio(coverage_parts(given, level)),
    }
    if metric in simple:
        return simple[metric]()
    name = metric.removesuffix("_as_published")
    finish = {"uce": uce_error, "ence": ence_error}[name]
    index = spread_index(given, n_bins, bin_by or {"uce": "variance", "ence": "std"}[name])
    outputs = index.shape[1]
    cells = index + n_bins * torch.arange(outputs)
    sums = cell_sums(
        cells, spread_values(given), outputs * n_bins, resampling_groups(len(given), most=len(given))
    )
    return Weighted(len(given), lambda w: finish(sums(w).view(len(w), outputs, n_bins, 3)))
