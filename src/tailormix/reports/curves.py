"""The numbers behind the diagrams, without any drawing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import binom, binomtest, chi2

from tailormix.metrics.binning import bin_sums
from tailormix.metrics.classification import sample_statistics
from tailormix.metrics.inputs import RegressionInputs, classification_inputs, regression_inputs
from tailormix.metrics.regression import SpreadBins

if TYPE_CHECKING:
    import numpy.typing as npt

    from tailormix.metrics.bootstrap import Interval
    from tailormix.metrics.classification import SampleStatistics
    from tailormix.metrics.inputs import Array

    Numbers = npt.NDArray[np.float64]

BAND = 0.95  # confidence of bands and intervals
MOST_POINTS = 500


@dataclass(frozen=True, eq=False)
class ReliabilityCurve:
    """Per bin (B,): samples, mean confidence and accuracy; NaN where a bin is empty.

    ``low`` to ``high`` is the 95 % Wilson interval of the accuracy. ``band_low`` to ``band_high`` holds the
    accuracy of a calibrated model with the same confidences in 95 % of all cases. ``positive``: confidence is
    the probability of class 1, and "accuracy" how often class 1 came.
    """

    count: Numbers
    confidence: Numbers
    accuracy: Numbers
    low: Numbers
    high: Numbers
    band_low: Numbers
    band_high: Numbers
    ece: Interval | float
    seeds: int = 1
    positive: bool = False

    @property
    def points(self) -> Numbers:
        """Independent samples per bin: seeds may share their points, so those of one seed; at least 1."""
        return independent(self.count, self.seeds)

    @property
    def mean_confidence(self) -> float:
        """Over all samples."""
        return float(np.nansum(self.count * self.confidence) / self.count.sum())

    @property
    def mean_accuracy(self) -> float:
        """Over all samples."""
        return float(np.nansum(self.count * self.accuracy) / self.count.sum())


@dataclass(frozen=True, eq=False)
class SpreadCurve:
    """Per bin with samples: number, root mean variance, root mean squared error and its 95 % interval."""

    count: Numbers
    predicted: Numbers
    observed: Numbers
    low: Numbers
    high: Numbers
    ence: Interval | float


@dataclass(frozen=True, eq=False)
class RiskCurve:
    """Risk of the share ``coverage`` of points that the model is surest of; ``best`` knows the errors."""

    coverage: Numbers
    risk: Numbers
    best: Numbers
    area: float
    risk_name: str


def reliability_curve(
    predictions: Array,
    targets: Array,
    *,
    from_logits: bool = False,
    n_bins: int = 15,
    binary: str | None = None,
    ece: Interval | None = None,
) -> ReliabilityCurve:
    """Return the reliability of predictions (n, C); ``ece`` adds an interval to the value that is shown.

    >>> p = np.array([[0.2, 0.8], [0.2, 0.8]])
    >>> reliability_curve(p, np.array([1, 0]), n_bins=2).accuracy
    array([nan, 0.5])
    """
    inputs = classification_inputs(predictions, targets, from_logits=from_logits, binary=binary)
    return reliability_from(sample_statistics(inputs), n_bins=n_bins, ece=ece, positive=inputs.positive)


def reliability_from(
    statistics: SampleStatistics,
    *,
    n_bins: int = 15,
    ece: Interval | float | None = None,
    seeds: int = 1,
    positive: bool = False,
) -> ReliabilityCurve:
    """Return the reliability of per-sample statistics, from one seed or from several.

    Seeds may share their points, so their rows are no independent samples: intervals and band are those of
    the points of one seed.
    """
    sums = bin_sums(statistics.confidence, statistics.outcome, n_bins).cpu().numpy()
    count, confidence, outcome = sums.T
    with np.errstate(invalid="ignore"):
        confidence, accuracy = confidence / count, outcome / count
        chance = np.clip(np.nan_to_num(confidence), 0, 1)
    points = independent(count, seeds)
    band = np.where(count > 0, np.array(binom.interval(BAND, points, chance)) / points, np.nan)
    around = np.array([wilson(k, n) for k, n in zip(np.nan_to_num(accuracy) * points, points, strict=True)]).T
    value = float(np.nansum(np.abs(sums[:, 2] - sums[:, 1])) / count.sum())
    (low, high), (band_low, band_high) = np.where(count > 0, around, np.nan), band
    return ReliabilityCurve(
        count,
        confidence,
        accuracy,
        low,
        high,
        band_low,
        band_high,
        value if ece is None else ece,
        seeds,
        positive,
    )


def independent(count: Numbers, seeds: int) -> Numbers:
    """The samples per bin of one of several seeds, rounded up; at least 1.

    >>> independent(np.array([0.0, 5.0]), seeds=2)
    array([1., 3.])
    """
    return np.maximum(np.ceil(count / seeds), 1)


def wilson(successes: float, trials: float) -> tuple[float, float]:
    """Return the 95 % Wilson interval of a share; numbers between whole ones are rounded.

    >>> [round(edge, 3) for edge in wilson(8, 10)]
    [0.49, 0.943]
    """
    found = binomtest(round(successes), round(trials)).proportion_ci(BAND, method="wilson")
    return float(found.low), float(found.high)


def spread_curve(
    mean: Array,
    std: Array,
    targets: Array,
    *,
    n_bins: int = 15,
    ence: Interval | float | None = None,
    seeds: int = 1,
) -> SpreadCurve:
    """Return predicted against observed error over the bins of ENCE, all outputs together.

    With the points of several ``seeds``, intervals are those of the points of one.

    >>> spread_curve(np.zeros(4), np.ones(4), np.full(4, 2.0)).observed
    array([2.])
    """
    inputs = regression_inputs(mean, targets, std)
    flat = RegressionInputs(*(one.reshape(-1, 1) for one in (inputs.mean, inputs.targets, inputs.std)))
    sums = SpreadBins(flat.std, n_bins, "std").sums(flat)[0].cpu().numpy()
    count, variance, squared = sums[sums[:, 0] > 0].T
    tails = chi2.ppf([[(1 + BAND) / 2], [(1 - BAND) / 2]], count / seeds)
    low, high = np.sqrt(squared / seeds / tails)
    predicted, observed = np.sqrt(variance / count), np.sqrt(squared / count)
    used = predicted > 0
    value = float(np.mean(np.abs(observed[used] / predicted[used] - 1))) if used.any() else float("nan")
    return SpreadCurve(count, predicted, observed, low, high, value if ence is None else ence)


def risk_coverage_curve(confidence: Array, loss: Array, *, risk_name: str = "error rate") -> RiskCurve:
    """Return the mean loss of the k surest points for every k; ties in confidence share their loss.

    ``confidence`` (n,): more is surer (a standard deviation enters with a minus). ``area`` is the mean of
    the curve.

    >>> risk_coverage_curve(np.array([0.9, 0.6]), np.array([0.0, 1.0])).risk
    array([0. , 0.5])
    """
    sure, lost = (np.asarray(one, dtype=np.float64).reshape(-1) for one in (confidence, loss))
    _, level, count = np.unique(-sure, return_inverse=True, return_counts=True)
    shared = (np.bincount(level, weights=lost) / count)[np.sort(level)]  # surest first
    number = np.arange(1, len(sure) + 1)
    risk, best = np.cumsum(shared) / number, np.cumsum(np.sort(lost)) / number
    shown = np.unique(np.linspace(0, len(sure) - 1, MOST_POINTS).round().astype(int))
    return RiskCurve(number[shown] / len(sure), risk[shown], best[shown], float(risk.mean()), risk_name)


def classification_risk(statistics: SampleStatistics) -> RiskCurve:
    """Return the risk–coverage curve of a classifier's error."""
    return risk_coverage_curve(statistics.confidence.cpu().numpy(), 1 - statistics.correct.cpu().numpy())


def regression_risk(mean: Array, std: Array, targets: Array) -> RiskCurve:
    """Return the risk–coverage curve of a regression's squared error, sorted by the predicted spread."""
    inputs = regression_inputs(mean, targets, std)
    variance, loss = (one.square().mean(1).cpu().numpy() for one in (inputs.std, inputs.error))
    return risk_coverage_curve(-variance, loss, risk_name="mean squared error")
