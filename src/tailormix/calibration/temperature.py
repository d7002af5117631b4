"""Temperature scaling: softmax(z / T) with one T for all classes (Guo et al. 2017)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, final

import torch
from scipy.optimize import brentq

from tailormix import checks
from tailormix.calibration.calibrator import LogitCalibrator

if TYPE_CHECKING:
    from tailormix.metrics.inputs import ClassificationInputs


RANGE = 1e3  # T stays within this factor of the logits' spread


@dataclass(frozen=True)
class TemperatureFit:
    """A fitted temperature with its standard error, the NLL before and after, and how the search ended.

    ``status``: "converged"; "at lower bound" (the NLL falls for ever as T → 0) and "at upper bound" (it falls
    for ever as T → ∞): T is then the bound of the search; "flat" (no T matters) and "not better than T = 1":
    T is 1. ``passes`` counts the evaluations of the NLL.
    """

    temperature: float
    standard_error: float
    status: str
    passes: int
    nll_before: float
    nll_after: float

    @property
    def converged(self) -> bool:
        """Whether T is the minimum, and not a bound."""
        return self.status in ("converged", "flat", "not better than T = 1")


@final
class TemperatureScaling(LogitCalibrator[TemperatureFit]):
    """softmax(z / T) with the T > 0 that minimises the NLL of the calibration split.

    ``fit(logits, targets)`` or ``fit(predictions)``; then ``.temperature``, ``.fitted`` and
    ``transform(logits)``. T stays within a factor of 1000 of the logits' own spread, and the NLL is never
    worse than at T = 1. ``prior``: see :func:`fit_temperature`.

    >>> import torch
    >>> logits = torch.tensor([[2.0, 0.0]]).repeat(4, 1)
    >>> round(TemperatureScaling().fit(logits, torch.tensor([0, 0, 0, 1])).temperature, 3)  # 2 / log 3
    1.82
    """

    kind = "temperature"
    record = TemperatureFit

    def __init__(self, *, prior: float | None = None) -> None:
        super().__init__()
        self.prior = None if prior is None else checks.positive("prior", prior)

    @property
    def temperature(self) -> float:
        """T."""
        return self.fitted.temperature

    @property
    def converged(self) -> bool:
        """Whether the search found a minimum."""
        return self.fitted.converged

    def _fit(self, inputs: ClassificationInputs) -> TemperatureFit:
        return fit_temperature(inputs, prior=self.prior)

    def _apply(self, fitted: TemperatureFit, logits: torch.Tensor) -> torch.Tensor:
        return logits / fitted.temperature


def fit_temperature(inputs: ClassificationInputs, *, prior: float | None = None) -> TemperatureFit:
    """Return the T that minimises n · NLL(z / T), plus (log T)² / (2 · prior²) where ``prior`` is given.

    A few dozen rows often are all classified right. Their NLL alone falls for ever as T → 0. The log-normal
    prior around T = 1, worth a handful of rows, keeps T near 1 there and does not matter where rows are many.

    The NLL is convex in 1/T, so its derivative changes sign once at most, and Brent's method finds where.
    """
    one = nll_in_log_temperature(inputs, 0.0)
    spread = _spread(inputs)
    if spread == 0:
        return TemperatureFit(1.0, math.inf, "flat", 1, one.nll, one.nll)
    weight = 0.0 if prior is None else 1 / (len(inputs) * prior**2)
    seen: dict[float, _Derivatives] = {}

    def slope(log_temperature: float) -> float:
        """Return the derivative in −1/T, which is bounded."""
        found = seen[log_temperature] = nll_in_log_temperature(inputs, log_temperature)
        return (found.first + weight * log_temperature) * math.exp(log_temperature) / spread

    low, high = math.log(spread / RANGE), math.log(spread * RANGE)
    if prior is not None:
        low, high = min(low, 0.0), max(high, 0.0)
    if slope(low) >= 0:
        at, status = low, "at lower bound"
    elif slope(high) <= 0:
        at, status = high, "at upper bound"
    else:
        at, status = float(brentq(slope, low, high, xtol=1e-9)), "converged"
    best = seen[at] if at in seen else nll_in_log_temperature(inputs, at)
    if best.nll + weight * at * at / 2 >= one.nll:
        at, best, status = 0.0, one, "not better than T = 1"
    second = len(inputs) * (best.second + weight)
    error = math.exp(at) / math.sqrt(second) if second > 0 else math.inf  # where the softmax is the truth
    return TemperatureFit(math.exp(at), error, status, len(seen) + 1, one.nll, best.nll)


class _Derivatives(NamedTuple):
    """The mean NLL and its first two derivatives in log T."""

    nll: float
    first: float
    second: float


def nll_in_log_temperature(inputs: ClassificationInputs, log_temperature: float) -> _Derivatives:
    """Return the mean NLL f and its derivatives at log T. With u = z / T and p = softmax(u),

    f' = −mean(E_p[u] − u_y) and f'' = mean(Var_p[u]) + mean(E_p[u] − u_y).
    """
    total = torch.zeros(3, dtype=torch.float64)
    for _, logits, targets in inputs.chunks():
        u = logits.double() * math.exp(-log_temperature)
        u = u - u.amax(1, keepdim=True)
        log_total = u.logsumexp(1)
        p = (u - log_total[:, None]).exp()
        chosen, mean = u.gather(1, targets[:, None])[:, 0], (p * u).sum(1)
        variance = (p * u.square()).sum(1) - mean.square()
        total += torch.stack([log_total - chosen, mean - chosen, variance]).sum(1).cpu()
    nll, lead, variance_mean = (total / len(inputs)).tolist()
    if not math.isfinite(nll):
        raise ValueError("logits must be finite, got NaN or infinity")
    return _Derivatives(nll, -lead, variance_mean + lead)


def _spread(inputs: ClassificationInputs) -> float:
    """Return the mean distance from a row's largest logit to its mean."""
    total = 0.0
    for _, logits, _ in inputs.chunks():
        wide = logits.double()
        total += float((wide.amax(1) - wide.mean(1)).sum())
    return total / len(inputs)
