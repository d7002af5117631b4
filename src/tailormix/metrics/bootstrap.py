"""Confidence intervals of metrics by the bootstrap, and a paired permutation test of two models.

A metric here is a function of sums over rows (``SummedMetric``), so a resample needs only to know how often
each row was drawn. Beyond 1000 rows, random groups of rows are drawn instead: their sums are as independent
as single rows are. Bins that follow the data (AECE, UCE, ENCE, QCE) keep the edges of the full
sample; AURC is taken over 200 of them, which is all but exact.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy import stats

from tailormix import checks
from tailormix.metrics.binning import (
    EqualMassBins,
    bin_sums,
    calibration_error,
    classwise_error,
    debiased_error,
    selective_risk,
)
from tailormix.metrics.classification import classwise_sums, sample_statistics
from tailormix.metrics.inputs import as_tensor, classification_inputs, regression_inputs
from tailormix.metrics.registry import METRICS, metric_function
from tailormix.metrics.regression import (
    SpreadBins,
    absolute_sums,
    coverage_sums,
    ence_error,
    gaussian_sums,
    mean_sums,
    pinball_sums,
    qce_error,
    ratio,
    relative_sums,
    squared_sums,
    two_row_reading,
    uce_error,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tailormix.metrics.classification import SampleStatistics
    from tailormix.metrics.inputs import Array, ClassificationInputs, RegressionInputs


METHODS = ("basic", "percentile")
MOST_GROUPS = 1000
RISK_BINS = 200  # of equal mass, for the area below risk and coverage
TABLE_VALUES = 2**23  # 64 MB of float64: the sums of all groups, and of a block of resamples


@dataclass(frozen=True)
class Interval:
    """A value with its bootstrap confidence interval."""

    value: float
    low: float
    high: float
    confidence: float = 0.95

    def as_dict(self) -> dict[str, float]:
        """Return a record for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        """Return ``value [low, high]``."""
        return f"{self.value:.4f} [{self.low:.4f}, {self.high:.4f}]"


@dataclass(frozen=True)
class Comparison:
    """First model minus second: the difference, its paired interval and the p-value of a permutation test."""

    first: float
    second: float
    difference: Interval
    p_value: float

    def as_dict(self) -> dict[str, Any]:
        """Return a record for JSON."""
        return asdict(self)


def interval(
    metric: str | Callable[..., float],
    *arrays: Array,
    resamples: int = 1000,
    confidence: float = 0.95,
    method: str = "basic",
    seed: int = 0,
    **options: Any,
) -> Interval:
    """Return a metric's value and bootstrap interval.

    ``metric`` is a name of METRICS with the arrays and options of its function (``interval("ece", logits,
    targets, from_logits=True)``). Any other function of arrays with a sample axis is called on resampled
    arrays.

    >>> p = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6]])
    >>> interval("accuracy", p, torch.tensor([0, 1, 0]), resamples=200).value
    0.6666666666666666
    """
    checks.integer("resamples", resamples, at_least=1)
    if callable(metric):
        value, drawn = float(metric(*arrays, **options)), _called(metric, arrays, resamples, seed, options)
        return interval_from(value, drawn, confidence=confidence, method=method)
    value = metric_function(metric)(*arrays, **options)
    drawn = bootstrap({metric: _summed(metric, arrays, options)}, len(arrays[0]), resamples, seed)[metric]
    bounds = METRICS[metric].bounds
    return interval_from(value, drawn, confidence=confidence, method=method, bounds=bounds)


def paired_test(
    metric: str,
    first: Array | tuple[Array, ...],
    second: Array | tuple[Array, ...],
    targets: Array,
    *,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
    **options: Any,
) -> Comparison:
    """Compare two models on the same points: difference, paired bootstrap interval, permutation p-value.

    ``first`` and ``second`` are predictions, or ``mean``, or ``(mean, std)``, row i of both belonging to
    target i. The permutation test swaps the two models' answers at random points; bins that follow the data
    are common to both models in it.

    >>> y = torch.tensor([0, 1] * 20); good = torch.eye(2)[y]; bad = good.flip(1)
    >>> paired_test("accuracy", good, bad, y, resamples=999).p_value < 0.01
    True
    """
    function = metric_function(metric)
    checks.integer("resamples", resamples, at_least=1)
    models = [(*(one if isinstance(one, tuple) else (one,)), targets) for one in (first, second)]
    if any(len(array) != len(targets) for arrays in models for array in arrays):
        raise ValueError(
            f"first and second must have one row per target: expected {len(targets)} rows in each"
        )
    values = [function(*arrays, **options) for arrays in models]
    each = {name: _summed(metric, arrays, options) for name, arrays in zip("ab", models, strict=True)}
    drawn = bootstrap(each, len(targets), resamples, seed)
    difference = interval_from(values[0] - values[1], drawn["a"] - drawn["b"], confidence=confidence)
    both = [torch.cat([as_tensor(array) for array in pair]) for pair in zip(*models, strict=True)]
    p_value = _swap_test(_summed(metric, both, options), len(targets), resamples, seed)
    return Comparison(values[0], values[1], difference, p_value)


def interval_from(
    value: float,
    drawn: torch.Tensor,
    *,
    confidence: float = 0.95,
    method: str = "basic",
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> Interval:
    """[2v − q_high, 2v − q_low] (basic) or [q_low, q_high] (percentile), cut to ``bounds``.

    A resample is noisier than the sample, so binned errors of resamples lie above ``value``. The basic
    interval reflects them, which corrects the shift, and is widened to hold ``value``; for plain means the
    two agree. Near 0, where a calibrated model sits, neither can be exact: ``debiased_ece`` is the better
    guide.

    >>> interval_from(0.5, torch.tensor([0.4, 0.5, 0.7]), confidence=0.999).low
    0.3...
    """
    if not 0 < checks.number("confidence", confidence) < 1:
        raise ValueError(f"confidence must lie in (0, 1), got {confidence}")
    checks.known("method", method, METHODS)
    drawn = drawn[drawn.isfinite()]
    if len(drawn) == 0:
        return Interval(value, math.nan, math.nan, confidence)
    low, high = np.quantile(drawn.numpy(), [(1 - confidence) / 2, (1 + confidence) / 2])
    if method == "basic":
        low, high = min(2 * value - high, value), max(2 * value - low, value)
    low, high = (float(np.clip(edge, *bounds)) for edge in (low, high))
    return Interval(value, low, high, confidence)


@dataclass(frozen=True, eq=False)
class SummedMetric:
    """A metric as ``value(Σ sums)``: ``sums`` of some rows (an index), ``value`` for any leading shape."""

    sums: Callable[[torch.Tensor], torch.Tensor]
    value: Callable[[torch.Tensor], torch.Tensor]


def bootstrap(
    metrics: Mapping[str, SummedMetric],
    n: int,
    resamples: int,
    seed: int,
    progress: Callable[[int], object] | None = None,
) -> dict[str, torch.Tensor]:
    """Return (resamples,) values of each metric, all from the same draws of n rows (or groups of rows).

    All eight metrics of 10 000 × 10 predictions with 1000 resamples take 1 s on one core; calling them on
    resampled rows, as ``scipy.stats.bootstrap`` does, takes 14 s, and grows with n · C.
    """
    random = np.random.default_rng(seed)
    width = max(metric.sums(torch.arange(1)).numel() for metric in metrics.values())
    rows = _random_groups(n, width, seed)
    groups, block = len(rows), max(1, min(128, TABLE_VALUES // width))
    different = {metric.sums for metric in metrics.values()}  # several metrics share the same bins
    tables = {sums: torch.stack([sums(group) for group in rows]) for sums in different}
    found: dict[str, list[torch.Tensor]] = {name: [] for name in metrics}
    for start in range(0, resamples, block):
        drawn = random.integers(0, groups, (min(block, resamples - start), groups))
        counts = np.stack([np.bincount(row, minlength=groups) for row in drawn])
        weights = torch.from_numpy(counts.astype(np.float64))
        sums = {key: torch.tensordot(weights, table, 1) for key, table in tables.items()}
        for name, metric in metrics.items():
            found[name].append(metric.value(sums[metric.sums]))
        if progress is not None:
            progress(start + len(drawn))
    return {name: torch.cat(values) for name, values in found.items()}


def classification_sums(
    inputs: ClassificationInputs,
    statistics: SampleStatistics,
    *,
    n_bins: int = 15,
    norm: str = "l1",
) -> dict[str, SummedMetric]:
    """Return every classification metric as a function of sums over rows."""
    confidence, outcome = statistics.confidence.cpu(), statistics.outcome.cpu()
    certainty, correct = statistics.certainty.cpu(), statistics.correct.cpu()
    equal_mass, by_certainty = EqualMassBins(confidence, n_bins), EqualMassBins(certainty, RISK_BINS)

    def mean_of(values: torch.Tensor) -> SummedMetric:
        return SummedMetric(lambda rows: mean_sums(values.cpu()[rows]), ratio)

    def binned(rows: torch.Tensor) -> torch.Tensor:
        return bin_sums(confidence[rows], outcome[rows], n_bins)

    def equally_binned(rows: torch.Tensor) -> torch.Tensor:
        return equal_mass.sums(confidence[rows], outcome[rows])

    def classwise(rows: torch.Tensor) -> torch.Tensor:
        return classwise_sums(inputs[rows], n_bins).cpu()

    return {
        "accuracy": mean_of(statistics.correct),
        "nll": mean_of(statistics.nll),
        "brier": mean_of(statistics.brier),
        "ece": SummedMetric(binned, lambda sums: calibration_error(sums, norm)),
        "aece": SummedMetric(equally_binned, calibration_error),
        "classwise_ece": SummedMetric(classwise, lambda sums: classwise_error(sums, norm)),
        "debiased_ece": SummedMetric(binned, debiased_error),
        "mce": SummedMetric(binned, lambda sums: calibration_error(sums, "max")),
        "gap": mean_of(statistics.gap),
        "aurc": SummedMetric(lambda rows: by_certainty.sums(certainty[rows], correct[rows]), selective_risk),
    }


def regression_sums(
    inputs: RegressionInputs, *, n_bins: int = 15, bin_by: str | None = None, level: float = 0.95
) -> dict[str, SummedMetric]:
    """Return every regression metric as a function of sums over rows."""

    def binned(seen: RegressionInputs, default: str, value: Callable[..., torch.Tensor]) -> SummedMetric:
        bins = SpreadBins(seen.std, n_bins, bin_by or default)
        return SummedMetric(lambda rows: bins.sums(seen[rows]), value)

    published, widths = two_row_reading(inputs), SpreadBins(inputs.std, n_bins, "std")
    return {
        "rmse": SummedMetric(lambda rows: squared_sums(inputs[rows]), lambda sums: ratio(sums).sqrt()),
        "mae": SummedMetric(lambda rows: absolute_sums(inputs[rows]), ratio),
        "mape": SummedMetric(lambda rows: relative_sums(inputs[rows]), ratio),
        "gaussian_nll": SummedMetric(lambda rows: gaussian_sums(inputs[rows]), ratio),
        "pinball": SummedMetric(lambda rows: pinball_sums(inputs[rows]), ratio),
        "uce": binned(inputs, "variance", uce_error),
        "ence": binned(inputs, "std", ence_error),
        "qce": SummedMetric(lambda rows: widths.inside_sums(inputs[rows]), qce_error),
        "coverage": SummedMetric(lambda rows: coverage_sums(inputs[rows], level), ratio),
        "uce_as_published": binned(published, "variance", uce_error),
        "ence_as_published": binned(published, "std", ence_error),
    }


def _summed(metric: str, arrays: Sequence[Array], options: dict[str, Any]) -> SummedMetric:
    """Return one metric of these arrays."""
    if METRICS[metric].task == "regression":
        inputs = regression_inputs(arrays[0], arrays[-1], arrays[1] if len(arrays) == 3 else None)
        return regression_sums(inputs, **options)[metric]
    kinds = {name: value for name, value in options.items() if name in ("from_logits", "binary")}
    others = {name: value for name, value in options.items() if name not in kinds}
    given = classification_inputs(*arrays, **kinds)
    return classification_sums(given, sample_statistics(given), **others)[metric]


def _random_groups(n: int, width: int, seed: int) -> list[torch.Tensor]:
    """Return the rows of each group; up to 1000 rows are groups by themselves, unless sums are very wide."""
    groups = min(n, MOST_GROUPS, max(100, TABLE_VALUES // width))
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    return list(order.tensor_split(groups))


def _swap_test(pooled: SummedMetric, n: int, resamples: int, seed: int) -> float:
    """Return the p-value of "the answers of the two models may be swapped at every point".

    ``pooled`` holds the first model's n rows, then the second's.
    """
    groups = _random_groups(n, pooled.sums(torch.arange(1)).numel(), seed)
    first = torch.stack([pooled.sums(rows) for rows in groups])
    second = torch.stack([pooled.sums(rows + n) for rows in groups])

    def difference(labels: Any, others: Any, **_: Any) -> Any:
        """Return the difference where the groups' answers are those of model 0 or 1, (..., groups)."""
        values = []
        for model in (torch.from_numpy(np.array(labels)), torch.from_numpy(np.array(others))):
            sums = torch.tensordot(1 - model, first, 1) + torch.tensordot(model, second, 1)
            values.append(pooled.value(sums))
        return np.round((values[0] - values[1]).numpy(), 12)  # equal up to rounding counts as equal

    found = stats.permutation_test(
        (np.zeros(len(groups)), np.ones(len(groups))),
        difference,
        permutation_type="samples",
        vectorized=True,
        n_resamples=resamples,
        batch=max(1, min(128, TABLE_VALUES // first[0].numel())),
        rng=seed,
    )
    return float(found.pvalue)


def _called(
    metric: Callable[..., float],
    arrays: tuple[Array, ...],
    resamples: int,
    seed: int,
    options: dict[str, Any],
) -> torch.Tensor:
    """Return (resamples,) values of a function that is called on resampled arrays."""
    found = stats.bootstrap(
        (np.arange(len(arrays[0])),),
        lambda rows: metric(*(array[rows] for array in arrays), **options),
        n_resamples=resamples,
        vectorized=False,
        method="percentile",
        rng=seed,
    )
    return torch.from_numpy(found.bootstrap_distribution)
