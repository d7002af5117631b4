"""Variance scaling for regression: one factor on the predicted variance."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, final

import torch

from tailormix import checks
from tailormix.calibration.calibrator import Calibrator, on_any
from tailormix.calibration.predictions import Predictions, check_fit, check_use
from tailormix.metrics.inputs import regression_inputs

if TYPE_CHECKING:
    from tailormix.metrics.inputs import Array


@dataclass(frozen=True)
class VarianceFit:
    """The factor on the variance and its standard error under Gaussian errors, s √(2/N).

    ``zero`` (D,) is what a predicted standard deviation of 0 stands for: the smallest other one of its output
    in the fit, or the output's root mean squared error where all are 0. ``constant``: all of them were 0.
    """

    scale: float
    standard_error: float
    zero: list[float]
    constant: bool

    def __post_init__(self) -> None:
        checks.non_negative("scale", self.scale)

    @property
    def note(self) -> str:
        """One sentence where there was no spread to scale, else nothing."""
        if not self.constant:
            return ""
        return (
            "No spread was predicted: σ is the root mean squared error of the calibration split everywhere."
        )


@final
class VarianceScaling(Calibrator[VarianceFit]):
    """σ² → s σ² with s = mean((y − μ)²/σ²), which minimises the Gaussian NLL.

    ``fit(mean, std, targets)`` or ``fit(predictions)``; ``transform(std)`` returns √s σ, and of predictions
    new predictions. A model without any spread, σ = 0, gets the root mean squared error of each output.

    >>> VarianceScaling().fit(torch.zeros(2), torch.ones(2), torch.tensor([2.0, -2.0])).scale
    4.0
    """

    kind = "variance"
    record = VarianceFit

    @property
    def scale(self) -> float:
        """s, the factor on the variance."""
        return self.fitted.scale

    def fit(
        self,
        mean: Array | Predictions,
        std: Array | None = None,
        targets: Array | None = None,
        *,
        imitate: str | None = None,
    ) -> Self:
        """Fit s on (n,) or (n, D) arrays, or on predictions of a split that is not the test's."""
        given = mean if isinstance(mean, Predictions) else Predictions(targets=targets, mean=mean, std=std)
        if given.mean is None:
            raise ValueError("VarianceScaling is fitted on mean and std, got a classifier's predictions")
        provenance = check_fit(given, imitate)
        self._fitted, self._provenance = fit_variance(given.mean, given.std, given.targets), provenance
        return self

    def transform(self, std: Array | Predictions, *, imitate: str | None = None) -> Any:
        """Return √s σ; predictions that share points with the fit raise, unless ``imitate`` names why."""
        fitted = self.fitted
        if not isinstance(std, Predictions):
            return on_any(std, lambda values: scale_std(fitted, values))
        if std.std is None:
            raise ValueError("VarianceScaling is applied to mean and std, got a classifier's predictions")
        allowed = check_use(self.provenance, std, imitate)
        return replace(allowed, std=on_any(std.std, lambda values: scale_std(fitted, values)))


def fit_variance(mean: Array, std: Array, targets: Array) -> VarianceFit:
    """Return s = mean((y − μ)²/σ²); some error must not be 0."""
    inputs = regression_inputs(mean, targets, std)
    given = inputs.std > 0
    smallest = inputs.std.where(given, math.inf).amin(0)
    zero = torch.where(given.any(0), smallest, inputs.error.square().mean(0).sqrt())
    known = inputs.std.where(given, zero)
    ratio = inputs.error / known.where(known > 0, 1.0)  # 0 only where the errors of a whole output are
    scale = float(ratio.square().mean())
    if scale == 0:
        raise ValueError("targets must differ from mean somewhere: the variance cannot be scaled to 0")
    error = scale * math.sqrt(2 / inputs.mean.numel())
    return VarianceFit(scale, error, zero.tolist(), not bool(given.any()))


def scale_std(fitted: VarianceFit, std: torch.Tensor) -> torch.Tensor:
    """Return √s σ for (n,) or (n, D) standard deviations.

    >>> scale_std(VarianceFit(4.0, 0.1, [0.5], False), torch.tensor([0.0, 3.0]))
    tensor([1., 6.])
    """
    zero = torch.tensor(fitted.zero, dtype=std.dtype, device=std.device)
    return torch.where(std > 0, std, zero) * math.sqrt(fitted.scale)
