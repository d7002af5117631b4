"""Temperature scaling, fitted by a safeguarded Newton search.

With s = 1/T, u = s z and p = softmax(u), the mean NLL f is convex in s, and in t it has the derivatives

    f' = −mean(E_p[u] − u_y),   f'' = mean(Var_p[u]) + mean(E_p[u] − u_y)

The sign of f' brackets the minimum at every step. A subset of the rows gives the start; from there the
steps shrink quadratically, so that two passes over all logits reach it, and a third certifies it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import torch

from tailormix.calibration.calibrator import LogitCalibrator
from tailormix.metrics.inputs import Classified

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


SMALL_STEP = 1e-5  # in log T; the next step would be about its square
NOT_FINITE = "logits must be finite, got NaN or infinity"
NOTHING = 1e-12  # derivatives below this are rounding


@dataclass(frozen=True)
class Slope:
    """NLL and its first two derivatives in log T."""

    nll: float
    first: float
    second: float


@dataclass(frozen=True)
class Minimum:
    """Where the search ended: log T, the slope there, how many evaluations it took, and why it ended."""

    at: float
    slope: Slope
    passes: int
    status: str


def slope(chunks: Iterable[tuple[torch.Tensor, torch.Tensor]], log_temperature: float) -> Slope:
    """Return NLL and derivatives at log T, from one pass over chunks of (logits, targets).

    >>> z, y = torch.tensor([[0.0, 1.0]]), torch.tensor([1])
    >>> round(slope([(z, y)], 0.0).nll, 6)
    0.313262
    """
    inverse = math.exp(-log_temperature)
    total = torch.zeros(3, dtype=torch.float64)
    rows = 0
    for logits, targets in chunks:
        total += _chunk_sums(logits, targets, inverse)
        rows += len(targets)
    nll, lead, variance = (float(value) / rows for value in total)
    if not math.isfinite(nll):
        raise ValueError(NOT_FINITE)
    return Slope(nll, -lead, variance + lead)


def _chunk_sums(logits: torch.Tensor, targets: torch.Tensor, inverse: float) -> torch.Tensor:
    """Return sums over the rows of NLL, E_p[u] − u_y and Var_p[u]; u is shifted to a maximum of 0."""
    shifted = torch.sub(logits, logits.amax(1, keepdim=True)).mul_(inverse)
    chosen = shifted.gather(1, targets[:, None])[:, 0]
    weight = shifted.exp()
    total = weight.sum(1)
    weight.mul_(shifted)
    mean = weight.sum(1) / total
    square = torch.linalg.vecdot(weight, shifted) / total
    parts = (total.log() - chosen, mean - chosen, square - mean.square())
    sums = torch.stack(parts).double().sum(1).cpu()
    if logits.dtype != torch.float64 and not bool(sums.isfinite().all()):  # float32 overflows beyond 1.7e38
        return _chunk_sums(logits.double(), targets, inverse)
    return sums


def minimise(
    evaluate: Callable[[float], Slope], start: float, low: float, high: float, passes: int
) -> Minimum:
    """Find the minimum in [low, high] within ``passes`` evaluations; every step stays inside the bracket.

    >>> bowl = lambda t: Slope((t - 1) ** 2, 2 * (t - 1), 2.0)
    >>> minimise(bowl, 0.0, -5.0, 5.0, 10).at
    1.0
    """
    at, left, right = min(max(start, low), high), low, high
    for count in range(1, passes + 1):
        found = evaluate(at)
        status = _verdict(found, at, low, high)
        if status is not None or count == passes:
            return Minimum(at, found, count, status or "not converged")
        left, right = (left, at) if found.first > 0 else (at, right)
        at = _inside(at + _step(found), at, (left, right), (low, high))
    raise AssertionError("passes must be >= 1")


def _verdict(found: Slope, at: float, low: float, high: float) -> str | None:
    """Return why the search may end here, or None."""
    if abs(found.first) <= NOTHING and abs(found.second) <= NOTHING:
        return "separable" if found.nll < 1e-6 else "flat"
    if at <= low and found.first >= 0:
        return "at lower bound"
    if at >= high and found.first <= 0:
        return "at upper bound"
    return "converged" if found.second > 0 and abs(found.first) < SMALL_STEP * found.second else None


def _step(found: Slope) -> float:
    """Return a Newton step of at most e² in T; downhill at that limit where the curvature misleads."""
    if found.second <= 0 or abs(found.first) >= 2 * found.second:
        return math.copysign(2.0, -found.first)
    return -found.first / found.second


def _inside(target: float, at: float, bracket: tuple[float, float], limits: tuple[float, float]) -> float:
    """Return the target if the bracket holds it; else a limit not yet visited, else the bracket's middle."""
    left, right = bracket
    if left < target < right:
        return target
    end, limit = (left, limits[0]) if target <= left else (right, limits[1])
    return limit if end == limit != at else (left + right) / 2


SUBSET, PASSES, REACH = 4000, 40, math.log(1e3)


@dataclass(frozen=True)
class TemperatureFit:
    """A fitted temperature with its standard error, the NLL before and after, and how the search ended.

    ``status``: "converged"; "separable" or "at lower bound" (the NLL falls for ever as T → 0), "at upper
    bound" (it falls for ever as T → ∞): T is then the bound of the search; "flat" (no T matters) and "not
    better than T = 1": T is 1; "not converged".
    """

    temperature: float
    standard_error: float
    status: str
    passes: int
    nll_before: float
    nll_after: float

    @property
    def converged(self) -> bool:
        """Whether T is the minimum, and not a bound or a last try."""
        return self.status in ("converged", "flat", "not better than T = 1")


@final
class TemperatureScaling(LogitCalibrator[TemperatureFit]):
    """softmax(z / T) with the T > 0 that minimises the NLL of the calibration split.

    ``fit(logits, targets)`` or ``fit(predictions)``; then ``.temperature``, ``.fitted`` and
    ``transform(logits)``. T stays within a factor of 1000 of the logits' own spread, and the NLL is never
    worse than at T = 1.

    >>> import torch
    >>> logits = torch.tensor([[2.0, 0.0]]).repeat(4, 1)
    >>> round(TemperatureScaling().fit(logits, torch.tensor([0, 0, 0, 1])).temperature, 3)  # 2 / log 3
    1.82
    """

    kind = "temperature"
    record = TemperatureFit

    @property
    def temperature(self) -> float:
        """T."""
        return self.fitted.temperature

    @property
    def converged(self) -> bool:
        """Whether the search found a minimum."""
        return self.fitted.converged

    def _fit(self, given: Classified) -> TemperatureFit:
        return fit_temperature(given)

    def _apply(self, fitted: TemperatureFit, logits: torch.Tensor) -> torch.Tensor:
        return logits / fitted.temperature


def fit_temperature(given: Classified) -> TemperatureFit:
    """Return the fit: a start from a subset, Newton over all rows, and a comparison with T = 1."""
    subset = _subset(given)
    spread = _spread(subset.chunks()) or _spread(given.chunks())
    before = slope(_pairs(given), 0.0) if spread == 0 else None
    if before is not None:
        return TemperatureFit(1.0, math.inf, "flat", 1, before.nll, before.nll)
    low, high = math.log(spread) - REACH, math.log(spread) + REACH
    start = minimise(lambda t: slope(_pairs(subset), t), 0.0, low, high, PASSES)
    at = start.at if start.status == "converged" else min(max(0.0, low), high)
    found = minimise(lambda t: slope(_pairs(given), t), at, low, high, PASSES)
    return _no_worse(found, slope(_pairs(given), 0.0), len(given))


def _no_worse(found: Minimum, one: Slope, rows: int) -> TemperatureFit:
    """Return the minimum found or, where T = 1 is at least as good, T = 1."""
    if found.slope.nll >= one.nll:
        status = "flat" if found.status == "flat" else "not better than T = 1"
        return TemperatureFit(1.0, _error(1.0, one, rows), status, found.passes, one.nll, one.nll)
    temperature = math.exp(found.at)
    error = _error(temperature, found.slope, rows)
    return TemperatureFit(temperature, error, found.status, found.passes, one.nll, found.slope.nll)


def _error(temperature: float, at: Slope, rows: int) -> float:
    """T / √(n f''): the standard error of T where the scaled softmax is the truth."""
    return temperature / math.sqrt(rows * at.second) if at.second > 0 else math.inf


def _subset(given: Classified) -> Classified:
    step = max(1, len(given) // SUBSET)
    return Classified(given.predictions[::step], given.targets[::step], from_logits=True)


def _pairs(given: Classified) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    return ((logits, targets) for _, logits, targets in given.chunks())


def _spread(chunks: Iterator[tuple[int, torch.Tensor, torch.Tensor]]) -> float:
    """Return the mean distance from a row's largest logit to its mean."""
    total, rows = 0.0, 0
    for _, logits, _ in chunks:
        total += float((logits.amax(1).double() - logits.double().mean(1)).sum())
        rows += len(logits)
    if not math.isfinite(total):
        raise ValueError(NOT_FINITE)
    return total / rows
