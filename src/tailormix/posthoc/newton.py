"""The temperature that minimises the NLL: safeguarded Newton on t = log T.

With s = 1/T, u = s z and p = softmax(u), the mean NLL f is convex in s, and in t it has the derivatives

    f' = −mean(E_p[u] − u_y),   f'' = mean(Var_p[u]) + mean(E_p[u] − u_y)

The sign of f' brackets the minimum at every step. A subset of the rows gives the start; from there the
steps shrink quadratically, so that two passes over all logits reach it, and a third certifies it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

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
