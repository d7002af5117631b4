"""Confidence intervals of any metric, and the paired comparison of two models on the same points."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tailormix import checks
from tailormix.metrics.catalogue import METRICS, metric_function
from tailormix.metrics.resampling import Interval, interval_from, replicates, swap_test
from tailormix.metrics.reweighting import pooled_metric, weighted_metric

if TYPE_CHECKING:
    from collections.abc import Callable

    from tailormix.metrics.inputs import Array


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
