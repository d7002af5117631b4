"""Confidence intervals and paired tests of metrics by resampling."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tailormix import checks
from tailormix.metrics.registry import METRICS, metric_function
from tailormix.metrics.weighting import pooled_metric, weighted_metric

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tailormix.metrics.inputs import Array
    from tailormix.metrics.weighting import Weighted


BLOCK_WEIGHTS = 2**21  # 16 MB of float64 weights at a time
METHODS = ("basic", "percentile")


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


def bootstrap_weights(units: int, resamples: int, seed: int) -> Iterator[torch.Tensor]:
    """Yield blocks (r, units): how often each unit is drawn when ``units`` are drawn with replacement.

    >>> [block.sum(1).tolist() for block in bootstrap_weights(5, 2, seed=0)]
    [[5.0, 5.0]]
    """
    random = np.random.default_rng(seed)
    for rows in _blocks(units, resamples):
        drawn = random.integers(0, units, size=(rows, units), dtype=np.int64)
        drawn += np.arange(rows)[:, None] * units
        counts = np.bincount(drawn.reshape(-1), minlength=rows * units)
        yield torch.from_numpy(counts.astype(np.float64).reshape(rows, units))


def _blocks(units: int, resamples: int) -> Iterator[int]:
    checks.integer("resamples", resamples, at_least=1)
    rows = max(1, min(128, BLOCK_WEIGHTS // units))
    yield from (min(rows, resamples - start) for start in range(0, resamples, rows))


def replicates(
    metrics: Mapping[str, Weighted],
    resamples: int,
    seed: int,
    progress: Callable[[int], object] | None = None,
) -> dict[str, torch.Tensor]:
    """Return (resamples,) bootstrap values of each metric; equal units share their weights."""
    found: dict[str, list[torch.Tensor]] = {name: [] for name in metrics}
    for units in sorted({metric.units for metric in metrics.values()}):
        same = {name: metric for name, metric in metrics.items() if metric.units == units}
        for weights in bootstrap_weights(units, resamples, seed):
            for name, metric in same.items():
                found[name].append(metric.value(weights))
            if progress is not None:
                progress(len(weights) * len(same))
    return {name: torch.cat(parts) for name, parts in found.items()}


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


def swap_test(pooled: Weighted, resamples: int, seed: int) -> float:
    """Return the p-value of "the two models may be swapped at every point".

    ``pooled`` holds the first model's n units, then the second's. Each round swaps the models at random
    points; p = (1 + #{|difference| at least the observed}) / (1 + rounds), which is never 0.
    """
    half = pooled.units // 2
    random = torch.Generator().manual_seed(seed)
    observed = float(_difference(pooled, torch.ones(1, half, dtype=torch.float64)))
    reached = 0
    for rows in _blocks(pooled.units, resamples):
        stay = torch.randint(0, 2, (rows, half), generator=random).double()
        reached += int((_difference(pooled, stay).abs() >= abs(observed) - 1e-12).sum())
    return (1 + reached) / (1 + resamples)


def _difference(pooled: Weighted, stay: torch.Tensor) -> torch.Tensor:
    first = torch.cat([stay, 1 - stay], dim=1)
    return pooled.value(first) - pooled.value(torch.cat([1 - stay, stay], dim=1))


@dataclass(frozen=True)
class Comparison:
    """First model minus second: the difference, its paired interval and the swap test's p-value."""

    first: float
    second: float
    difference: Interval
    p_value: float

    def as_dict(self) -> dict[str, Any]:
        """Return a record for JSON."""
        return asdict(self)


def limits(metric: str) -> tuple[float, float]:
    """Return the range that a metric cannot leave.

    >>> limits("ece"), limits("brier")
    ((0.0, 1.0), (0.0, 2.0))
    """
    if metric == "gaussian_nll":
        return -math.inf, math.inf
    if metric == "brier":
        return 0.0, 2.0
    shares = {"accuracy", "ece", "aece", "classwise_ece", "debiased_ece", "mce", "coverage"}
    return 0.0, 1.0 if metric in shares else math.inf


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
    targets, from_logits=True)``); all resamples of it are weighted sums. Bins that follow the data (UCE,
    ENCE) keep the edges of the full sample. Any other function of arrays with a sample axis is called on
    resampled arrays.

    >>> p = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6]])
    >>> interval("accuracy", p, torch.tensor([0, 1, 0]), resamples=200).value
    0.6666666666666666
    """
    if callable(metric):
        value, drawn = _by_calls(metric, arrays, resamples, seed, options)
        return interval_from(value, drawn, confidence=confidence, method=method)
    value = metric_function(metric)(*arrays, **options)
    found = replicates({metric: weighted_metric(metric, arrays, seed=seed, **options)}, resamples, seed)[
        metric
    ]
    return interval_from(value, found, confidence=confidence, method=method, bounds=limits(metric))


def _by_calls(
    metric: Callable[..., float],
    arrays: tuple[Array, ...],
    resamples: int,
    seed: int,
    options: dict[str, Any],
) -> tuple[float, torch.Tensor]:
    checks.integer("resamples", resamples, at_least=1)
    random = np.random.default_rng(seed)
    drawn = []
    for _ in range(resamples):
        index = random.integers(0, len(arrays[0]), len(arrays[0]))
        drawn.append(float(metric(*(array[index] for array in arrays), **options)))
    return float(metric(*arrays, **options)), torch.tensor(drawn, dtype=torch.float64)


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
    target i. The p-value is that of swapping the two models' answers at random points; UCE and ENCE use
    common bins in it.

    >>> y = torch.tensor([0, 1] * 20); good = torch.eye(2)[y]; bad = good.flip(1)
    >>> paired_test("accuracy", good, bad, y, resamples=99).p_value
    0.01
    """
    checks.known("metric", metric, METRICS)
    ours, theirs = (one if isinstance(one, tuple) else (one,) for one in (first, second))
    if any(len(array) != len(targets) for array in (*ours, *theirs)):
        raise ValueError(f"first and second must have one row a target: expected {len(targets)} rows in each")
    function = metric_function(metric)
    values = [function(*arrays, targets, **options) for arrays in (ours, theirs)]
    drawn = [
        replicates(
            {metric: weighted_metric(metric, (*arrays, targets), seed=seed, **options)}, resamples, seed
        )[metric]
        for arrays in (ours, theirs)
    ]
    difference = interval_from(values[0] - values[1], drawn[0] - drawn[1], confidence=confidence)
    pooled = pooled_metric(metric, (*ours, targets), (*theirs, targets), seed=seed, **options)
    return Comparison(values[0], values[1], difference, swap_test(pooled, resamples, seed))
