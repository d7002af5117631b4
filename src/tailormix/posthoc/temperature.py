"""Temperature scaling: one number T > 0 that divides all logits (Guo et al. 2017)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from tailormix.metrics.inputs import Classified
from tailormix.posthoc.calibrator import LogitCalibrator
from tailormix.posthoc.newton import NOT_FINITE, Minimum, Slope, minimise, slope

if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch

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
