"""Temperature scaling: softmax(z / T) with one T for all classes (Guo et al. 2017), and a weak prior."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np
import torch
from scipy.optimize import brentq

from tailormix import checks
from tailormix.calibration.calibrator import LogitCalibrator

if TYPE_CHECKING:
    from tailormix.metrics.inputs import ClassificationInputs


PRIOR = 0.3  # standard deviation of log T before any row is seen
RANGE = 1e3  # T stays within this factor of the logits' spread
STEP = 0.5  # in log T; finer than the valleys of the NLL

_TO_ZERO = "falls for ever as T → 0, as it does where all rows are classified right"
_TO_INFINITY = "falls for ever as T → ∞, as it does where the logits are no better than guesses"
#: endings of a search that are no minimum of the NLL, in one sentence
_NOTES = {
    "kept from 0 by the prior": f"T = {{0:.3g}} rests on the prior around 1: the NLL alone {_TO_ZERO}.",
    "kept from infinity by the prior": (
        f"T = {{0:.3g}} rests on the prior around 1: the NLL alone {_TO_INFINITY}."
    ),
    "at lower bound": f"T = {{0:.3g}} is where the search ends, not a minimum: the NLL {_TO_ZERO}.",
    "at upper bound": f"T = {{0:.3g}} is where the search ends, not a minimum: the NLL {_TO_INFINITY}.",
    "not better than T = 1": "T = 1: no other temperature has a lower NLL.",
    "flat": "T = 1: the logits of each row are equal, so that no temperature matters.",
}


@dataclass(frozen=True)
class TemperatureFit:
    """A fitted temperature with its standard error, the NLL before and after, and how the search ended.

    ``status``: "converged"; "kept from 0 by the prior" and "kept from infinity by the prior" (the NLL alone
    falls for ever as T → 0, as T → ∞); without a prior "at lower bound" and "at upper bound" (T is then the
    bound of the search); "flat" (no T matters) and "not better than T = 1" (T is 1). ``passes`` counts the
    evaluations of the NLL.
    """

    temperature: float
    standard_error: float
    status: str
    passes: int
    nll_before: float
    nll_after: float
    prior: float | None = None

    def __post_init__(self) -> None:
        checks.positive("temperature", self.temperature)

    @property
    def converged(self) -> bool:
        """Whether T is the minimum, and not a bound."""
        return self.status not in ("at lower bound", "at upper bound")

    @property
    def note(self) -> str:
        """One sentence where T is not an inner minimum of the NLL, else nothing."""
        return _NOTES.get(self.status, "").format(self.temperature)


@final
class TemperatureScaling(LogitCalibrator[TemperatureFit]):
    """softmax(z / T) with the T > 0 that minimises the NLL of the calibration split, under a weak prior.

    ``fit(logits, targets)`` or ``fit(predictions)``; then ``.temperature``, ``.fitted`` and
    ``transform(logits)``. The NLL of the calibration split is never worse than at T = 1. ``prior`` is the
    standard deviation of log T around T = 1 before any row is seen, worth a handful of rows; ``None`` is the
    textbook fit, in which T stays within a factor of 1000 of the logits' own spread. See
    :func:`fit_temperature`.

    >>> import torch
    >>> logits = torch.tensor([[2.0, 0.0]]).repeat(4, 1)
    >>> TemperatureScaling(prior=None).fit(logits, torch.tensor([0, 0, 0, 1])).temperature  # 2 / log 3
    1.82047845...
    >>> TemperatureScaling().fit(logits, torch.tensor([0, 0, 0, 0])).fitted.note[:38]  # all rows right
    'T = 0.923 rests on the prior around 1:'
    """

    kind = "temperature"
    record = TemperatureFit

    def __init__(self, *, prior: float | None = PRIOR) -> None:
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


def fit_temperature(inputs: ClassificationInputs, *, prior: float | None = PRIOR) -> TemperatureFit:
    """Return the T that minimises n · NLL(z / T) + (log T)² / (2 · prior²); ``prior=None``: the NLL alone.

    A few hundred rows often are all classified right. Their NLL alone falls for ever as T → 0, and such a T
    ruins the probabilities of the first row that is wrong. The log-normal prior around T = 1 keeps T near 1
    there and does not matter where rows are many.

    The NLL is convex in 1/T, so its derivative changes sign once at most, and Brent's method finds where: at
    the textbook T. Every minimum under the prior lies between that and 1.
    """
    one = nll_in_log_temperature(inputs, 0.0)
    spread = _spread(inputs)
    if spread == 0:
        return TemperatureFit(1.0, math.inf, "flat", 1, one.nll, one.nll, prior)
    seen: dict[float, _Derivatives] = {0.0: one}

    def nll(t: float) -> _Derivatives:
        """Return the NLL and its derivatives at log T = t, each computed once."""
        return seen[t] if t in seen else seen.setdefault(t, nll_in_log_temperature(inputs, t))

    def slope(t: float, weight: float = 0.0) -> float:
        """Return the derivative in −1/T, which is bounded."""
        return (nll(t).first + weight * t) * math.exp(t) / spread

    low, high = min(math.log(spread / RANGE), 0.0), max(math.log(spread * RANGE), 0.0)
    if slope(low) >= 0:
        at, status = low, "at lower bound"
    elif slope(high) <= 0:
        at, status = high, "at upper bound"
    else:
        at, status = float(brentq(slope, low, high, xtol=1e-9)), "converged"
    weight = 0.0
    if prior is not None:
        weight = 1 / (len(inputs) * prior**2)
        edges = np.linspace(min(at, 0.0), max(at, 0.0), 2 + int(abs(at) / STEP)).tolist()
        rising = [(a, b) for a, b in pairwise(edges) if slope(a, weight) < 0 <= slope(b, weight)]
        minima = [float(brentq(slope, a, b, args=(weight,), xtol=1e-9)) for a, b in rising]
        at = min(minima, key=lambda t: nll(t).nll + weight * t * t / 2, default=at)
        status = {"at lower bound": "kept from 0 by the prior"}.get(status, status)
        status = {"at upper bound": "kept from infinity by the prior"}.get(status, status)
    best = nll(at)
    if best.nll + weight * at * at / 2 >= one.nll:
        at, best, status = 0.0, one, "not better than T = 1"
    second = len(inputs) * (best.second + weight)
    error = math.exp(at) / math.sqrt(second) if second > 0 else math.inf  # where the softmax is the truth
    return TemperatureFit(math.exp(at), error, status, len(seen), one.nll, best.nll, prior)


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
