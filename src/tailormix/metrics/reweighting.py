"""From a metric's name and arrays to its weighted form, for one model or for two pooled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from tailormix.metrics import weighted
from tailormix.metrics.as_published import two_row_reading
from tailormix.metrics.catalogue import METRICS
from tailormix.metrics.classwise import ClasswiseTable
from tailormix.metrics.gaussian import coverage_parts, gaussian_parts
from tailormix.metrics.groups import MOST_UNITS, resampling_groups
from tailormix.metrics.inputs import classified
from tailormix.metrics.point_errors import absolute_parts, relative_parts, squared_parts
from tailormix.metrics.regressed import Regressed, regressed
from tailormix.metrics.rows import join, read
from tailormix.metrics.variance_calibration import ence_error, spread_index, spread_values, uce_error
from tailormix.metrics.weighted_classification import weighted_classification

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tailormix.metrics.inputs import Array
    from tailormix.metrics.weighted import Weighted

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
        "rmse": lambda: weighted.ratio(squared_parts(given), torch.sqrt),
        "mae": lambda: weighted.ratio(absolute_parts(given)),
        "mape": lambda: weighted.ratio(relative_parts(given)),
        "gaussian_nll": lambda: weighted.ratio(gaussian_parts(given)),
        "coverage": lambda: weighted.ratio(coverage_parts(given, level)),
    }
    if metric in simple:
        return simple[metric]()
    name = metric.removesuffix("_as_published")
    finish = {"uce": uce_error, "ence": ence_error}[name]
    index = spread_index(given, n_bins, bin_by or {"uce": "variance", "ence": "std"}[name])
    outputs = index.shape[1]
    cells = index + n_bins * torch.arange(outputs)
    sums = weighted.cell_sums(
        cells, spread_values(given), outputs * n_bins, resampling_groups(len(given), most=len(given))
    )
    return weighted.Weighted(len(given), lambda w: finish(sums(w).view(len(w), outputs, n_bins, 3)))
