"""Vector and matrix scaling: softmax(w ∘ z + b) and softmax(W z + b) (Guo et al. 2017).

Both start from the fitted temperature and minimise the mean NLL plus a small ridge on the distance from it,
so their NLL on the calibration split is never worse than that of temperature scaling, and stays bounded on
separable data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
import torch

from tailormix import checks
from tailormix.calibration.calibrator import LogitCalibrator
from tailormix.calibration.temperature import fit_temperature

if TYPE_CHECKING:
    import numpy.typing as npt

    from tailormix.metrics.inputs import Classified


@dataclass(frozen=True, eq=False)
class LinearFit:
    """Weight (C,) or (C, C) and bias (C,), with the NLL before and after, and how the search ended."""

    weight: npt.NDArray[np.float64]
    bias: npt.NDArray[np.float64]
    ridge: float
    converged: bool
    iterations: int
    nll_before: float
    nll_after: float


class _Linear(LogitCalibrator[LinearFit]):
    """A linear map of the logits; ``full`` says whether classes may be mixed."""

    record = LinearFit
    full: bool

    def __init__(self, ridge: float = 1e-4) -> None:
        super().__init__()
        self.ridge = checks.non_negative("ridge", ridge)

    def _fit(self, given: Classified) -> LinearFit:
        return fit_linear(given, full=self.full, ridge=self.ridge)

    def _apply(self, fitted: LinearFit, logits: torch.Tensor) -> torch.Tensor:
        weight, bias = (torch.from_numpy(np.array(part)).to(logits) for part in (fitted.weight, fitted.bias))
        return (logits @ weight.T if self.full else logits * weight) + bias


@final
class VectorScaling(_Linear):
    """softmax(w ∘ z + b): one weight and one bias a class.

    >>> logits = torch.tensor([[2.0, 0.0], [0.0, 2.0]]).repeat(4, 1)
    >>> VectorScaling().fit(logits, torch.tensor([0, 1, 0, 0, 0, 1, 1, 1])).fitted.weight.shape
    (2,)
    """

    kind = "vector"
    full = False


@final
class MatrixScaling(_Linear):
    """softmax(W z + b): C² + C numbers, for calibration splits much larger than that."""

    kind = "matrix"
    full = True


def fit_linear(given: Classified, *, full: bool, ridge: float) -> LinearFit:
    """Minimise NLL(W, b) + ridge · (|W − I/T|² spread² + |b|²)/C by L-BFGS from (I/T, 0), in float64."""
    from scipy.optimize import minimize

    start = fit_temperature(given)
    problem = _Problem(given, full, ridge, start.temperature)
    found = minimize(problem, np.zeros(problem.size), jac=True, method="L-BFGS-B", options={"maxiter": 500})
    weight, bias = problem.parameters(np.asarray(found.x))
    nll = problem.nll(np.asarray(found.x))[0]
    if nll > start.nll_after:  # rounding at a start that was already the minimum
        weight, bias = problem.parameters(np.zeros(problem.size))
        nll = start.nll_after
    return LinearFit(weight, bias, ridge, bool(found.success), int(found.nit), start.nll_before, nll)


class _Problem:
    """The objective in the unknowns x = ((W − I/T) · spread, b), so that both have the size of 1."""

    def __init__(self, given: Classified, full: bool, ridge: float, temperature: float) -> None:
        self.given, self.full, self.ridge = given, full, ridge
        self.classes = given.num_classes
        deviation = [float(chunk.double().square().mean()) for _, chunk, _ in given.chunks()]
        self.spread = max(float(np.mean(deviation)) ** 0.5, 1e-300)
        self.base = (np.eye(self.classes) if full else np.ones(self.classes)) / temperature
        self.size = self.base.size + self.classes

    def parameters(self, x: npt.NDArray[np.float64]) -> tuple[Any, Any]:
        """Return weight and bias."""
        weight, bias = x[: self.base.size], x[self.base.size :]
        return self.base + weight.reshape(self.base.shape) / self.spread, bias.copy()

    def nll(self, x: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        """Return the mean NLL and its gradient, from one pass over the rows."""
        weight, bias = (torch.from_numpy(part) for part in self.parameters(x))
        total, slope_w, slope_b = 0.0, torch.zeros_like(weight), torch.zeros_like(bias)
        for _, chunk, targets in self.given.chunks():
            logits = chunk.double()
            scores = (logits @ weight.T if self.full else logits * weight) + bias
            log_p = scores.log_softmax(1)
            total -= float(log_p.gather(1, targets[:, None]).sum())
            residual = log_p.exp()
            residual[torch.arange(len(targets)), targets] -= 1
            slope_w += residual.T @ logits if self.full else (residual * logits).sum(0)
            slope_b += residual.sum(0)
        gradient = torch.cat([slope_w.reshape(-1) / self.spread, slope_b]).numpy()
        return total / len(self.given), gradient / len(self.given)

    def __call__(self, x: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        """Return the objective and its gradient."""
        value, gradient = self.nll(x)
        strength = self.ridge / self.classes
        return value + strength * float(x @ x), gradient + 2 * strength * x
