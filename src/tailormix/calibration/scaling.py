"""Vector and matrix scaling: softmax(w ∘ z + b) and softmax(W z + b) (Guo et al. 2017).

Both start from the fitted temperature and minimise the mean NLL plus a small ridge on the distance from it.
So their NLL on the calibration split is never worse than that of temperature scaling, and stays bounded on
separable data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
import torch
from scipy.optimize import minimize
from torch.nn.functional import cross_entropy

from tailormix import checks
from tailormix.calibration.calibrator import LogitCalibrator
from tailormix.calibration.temperature import fit_temperature

if TYPE_CHECKING:
    import numpy.typing as npt

    from tailormix.metrics.inputs import ClassificationInputs


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

    def _fit(self, inputs: ClassificationInputs) -> LinearFit:
        return fit_linear(inputs, full=self.full, ridge=self.ridge)

    def _apply(self, fitted: LinearFit, logits: torch.Tensor) -> torch.Tensor:
        weight, bias = (torch.from_numpy(np.array(part)).to(logits) for part in (fitted.weight, fitted.bias))
        return _scores(logits, weight, bias)


@final
class VectorScaling(_Linear):
    """softmax(w ∘ z + b): one weight and one bias per class.

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


def fit_linear(inputs: ClassificationInputs, *, full: bool, ridge: float) -> LinearFit:
    """Minimise NLL(W, b) + ridge · (|W − I/T|² spread² + |b|²)/C by L-BFGS from (I/T, 0), in float64.

    The unknowns are x = ((W − I/T) · spread, b), with the spread the root mean square of the logits: both
    have the size of 1.
    """
    start = fit_temperature(inputs)
    classes = inputs.num_classes
    spread = max(_mean_square(inputs) ** 0.5, 1e-300)
    base = (torch.eye(classes) if full else torch.ones(classes)).double() / start.temperature

    def parameters(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return base + x[: base.numel()].view_as(base) / spread, x[base.numel() :]

    def objective(x: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        """Return the objective and its gradient."""
        unknown = torch.tensor(x, requires_grad=True)
        total = 0.0
        for _, logits, targets in inputs.chunks():
            scores = _scores(logits.double(), *parameters(unknown))
            nll = cross_entropy(scores, targets, reduction="sum") / len(inputs)
            nll.backward()  # type: ignore[no-untyped-call]
            total += nll.item()
        penalty = ridge / classes * unknown.square().sum()
        penalty.backward()  # type: ignore[no-untyped-call]
        assert unknown.grad is not None
        return total + penalty.item(), unknown.grad.numpy()

    found = minimize(
        objective, np.zeros(base.numel() + classes), jac=True, method="L-BFGS-B", options={"maxiter": 500}
    )
    x = torch.from_numpy(np.asarray(found.x))
    nll = objective(found.x)[0] - ridge / classes * float(x.square().sum())
    if nll > start.nll_after:  # rounding at a start that was already the minimum
        x, nll = torch.zeros_like(x), start.nll_after
    weight, bias = (part.numpy().copy() for part in parameters(x))
    return LinearFit(weight, bias, ridge, bool(found.success), int(found.nit), start.nll_before, nll)


def _scores(logits: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return (logits @ weight.T if weight.ndim == 2 else logits * weight) + bias


def _mean_square(inputs: ClassificationInputs) -> float:
    total: Any = sum(chunk.double().square().sum() for _, chunk, _ in inputs.chunks())
    return float(total) / (len(inputs) * inputs.num_classes)
