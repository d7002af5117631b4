"""Variance scaling for regression: one factor on the predicted variance."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, final

from tailormix.calibration.calibrator import Calibrator, on_any
from tailormix.calibration.predictions import Predictions, check_fit, check_use
from tailormix.metrics.inputs import regression_inputs

if TYPE_CHECKING:
    from tailormix.metrics.inputs import Array


@dataclass(frozen=True)
class VarianceFit:
    """The factor on the variance and its standard error under Gaussian errors, s √(2/N)."""

    scale: float
    standard_error: float


@final
class VarianceScaling(Calibrator[VarianceFit]):
    """σ² → s σ² with s = mean((y − μ)²/σ²), which minimises the Gaussian NLL.

    ``fit(mean, std, targets)`` or ``fit(predictions)``; ``transform(std)`` returns √s σ, and of predictions
    new predictions.

    >>> import torch
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
        factor = math.sqrt(self.scale)
        if not isinstance(std, Predictions):
            return on_any(std, lambda values: values * factor)
        if std.std is None:
            raise ValueError("VarianceScaling is applied to mean and std, got a classifier's predictions")
        allowed = check_use(self.provenance, std, imitate)
        return replace(allowed, std=on_any(std.std, lambda values: values * factor))


def fit_variance(mean: Array, std: Array, targets: Array) -> VarianceFit:
    """Return s = mean((y − μ)²/σ²); every σ must be > 0 and some error must not be 0."""
    inputs = regression_inputs(mean, targets, std)
    if bool((inputs.std == 0).any()):
        raise ValueError("std must be > 0 for variance scaling, got 0")
    scale = float((inputs.error / inputs.std).square().mean())
    if scale == 0:
        raise ValueError("targets must differ from mean somewhere: the variance cannot be scaled to 0")
    return VarianceFit(scale, scale * math.sqrt(2 / inputs.mean.numel()))
