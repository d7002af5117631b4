"""Variance scaling for regression: one factor on the predicted variance."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

from tailormix.calibration import calibrator
from tailormix.calibration.calibrator import fitted_or_raise, on_any
from tailormix.calibration.predictions import Predictions, Provenance, allow_fit, allow_use
from tailormix.metrics.inputs import regressed

if TYPE_CHECKING:
    from pathlib import Path

    from tailormix.metrics.inputs import Array


@dataclass(frozen=True)
class VarianceFit:
    """The factor on the variance and its standard error under Gaussian errors, s √(2/N)."""

    scale: float
    standard_error: float


@final
class VarianceScaling:
    """σ² → s σ² with s = mean((y − μ)²/σ²), which minimises the Gaussian NLL.

    ``fit(mean, std, targets)`` or ``fit(predictions)``; ``transform(std)`` returns √s σ, and of predictions
    new predictions.

    >>> import torch
    >>> VarianceScaling().fit(torch.zeros(2), torch.ones(2), torch.tensor([2.0, -2.0])).scale
    4.0
    """

    kind = "variance"

    def __init__(self) -> None:
        self._fitted: VarianceFit | None = None
        self._provenance: Provenance | None = None

    @property
    def fitted(self) -> VarianceFit:
        """The factor and its standard error."""
        return fitted_or_raise(self._fitted, "VarianceScaling")

    @property
    def provenance(self) -> Provenance:
        """The split and the points of the fit."""
        return fitted_or_raise(self._provenance, "VarianceScaling")

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
    ) -> VarianceScaling:
        """Fit s on (n,) or (n, D) arrays, or on predictions of a split that is not the test's."""
        given = mean if isinstance(mean, Predictions) else Predictions(targets=targets, mean=mean, std=std)
        if given.mean is None:
            raise ValueError("VarianceScaling is fitted on mean and std, got a classifier's predictions")
        provenance = allow_fit(given, imitate)
        self._fitted, self._provenance = fit_variance(given.mean, given.std, given.targets), provenance
        return self

    def transform(self, std: Array | Predictions, *, imitate: str | None = None) -> Any:
        """Return √s σ; predictions that share points with the fit raise, unless ``imitate`` names why."""
        factor = math.sqrt(self.scale)
        if not isinstance(std, Predictions):
            return on_any(std, lambda values: values * factor)
        if std.std is None:
            raise ValueError("VarianceScaling is applied to mean and std, got a classifier's predictions")
        allowed = allow_use(self.provenance, std, imitate)
        return replace(allowed, std=on_any(std.std, lambda values: values * factor))

    def save(self, path: str | Path) -> Path:
        """Write to ``.json`` or ``.safetensors``."""
        return calibrator.write(path, calibrator.pack(self.kind, self.fitted, self.provenance))

    @classmethod
    def load(cls, path: str | Path) -> VarianceScaling:
        """Read back what ``save`` wrote."""
        return cls.restore(calibrator.read(path, kind=cls.kind))

    @classmethod
    def restore(cls, stored: calibrator.Stored) -> VarianceScaling:
        """Return the calibrator that was stored."""
        new = cls()
        new._fitted, new._provenance = calibrator.unpack(VarianceFit, stored), stored.provenance
        return new


def fit_variance(mean: Array, std: Array, targets: Array) -> VarianceFit:
    """Return s = mean((y − μ)²/σ²); every σ must be > 0 and some error must not be 0."""
    given = regressed(mean, targets, std)
    if bool((given.spread == 0).any()):
        raise ValueError("std must be > 0 for variance scaling, got 0")
    scale = float((given.error / given.spread).square().mean())
    if scale == 0:
        raise ValueError("targets must differ from mean somewhere: the variance cannot be scaled to 0")
    return VarianceFit(scale, scale * math.sqrt(2 / given.mean.numel()))
