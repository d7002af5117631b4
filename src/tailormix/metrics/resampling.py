"""Bootstrap weights, intervals from them, and the paired test: all on weights, never on predictions."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from tailormix import checks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tailormix.metrics.weighted import Weighted

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
