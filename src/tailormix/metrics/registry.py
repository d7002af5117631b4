"""Every metric by name."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailormix import checks
from tailormix.metrics.classification import (
    accuracy,
    aece,
    aurc,
    brier,
    classwise_ece,
    debiased_ece,
    ece,
    gap,
    mce,
    nll,
)
from tailormix.metrics.regression import (
    coverage,
    ence,
    ence_as_published,
    gaussian_nll,
    mae,
    mape,
    pinball,
    qce,
    rmse,
    uce,
    uce_as_published,
)

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class MetricInfo:
    """What a metric is: title, meaning, function with the arrays it takes, and its torchmetrics class.

    ``bounds`` is the range that it cannot leave.
    """

    title: str
    summary: str
    function: Callable[..., float]
    arrays: tuple[str, ...]
    class_name: str
    bounds: tuple[float, float] = (0.0, math.inf)
    higher_is_better: bool | None = False
    percent: bool = False

    @property
    def task(self) -> str:
        """``"classification"`` or ``"regression"``."""
        return "classification" if self.arrays[0] == "predictions" else "regression"


_CLASSES = ("predictions", "targets")
_POINT = ("mean", "targets")
_GAUSS = ("mean", "std", "targets")
_SHARE = (0.0, 1.0)

METRICS: dict[str, MetricInfo] = {
    "accuracy": MetricInfo("Accuracy", "top-1 accuracy", accuracy, _CLASSES, "Accuracy", _SHARE, True),
    "nll": MetricInfo("NLL", "negative log-likelihood", nll, _CLASSES, "NLL"),
    "brier": MetricInfo(
        "Brier", "squared distance to the one-hot target", brier, _CLASSES, "Brier", (0.0, 2.0)
    ),
    "ece": MetricInfo("ECE", "expected calibration error", ece, _CLASSES, "ECE", _SHARE),
    "aece": MetricInfo("AECE", "calibration error, equal-mass bins", aece, _CLASSES, "AECE", _SHARE),
    "classwise_ece": MetricInfo(
        "Class-wise ECE", "calibration error of each class", classwise_ece, _CLASSES, "ClasswiseECE", _SHARE
    ),
    "debiased_ece": MetricInfo(
        "Debiased ECE", "l2 calibration error less its noise", debiased_ece, _CLASSES, "DebiasedECE", _SHARE
    ),
    "mce": MetricInfo("MCE", "maximum calibration error", mce, _CLASSES, "MCE", _SHARE),
    "gap": MetricInfo(
        "Gap", "confidence minus accuracy", gap, _CLASSES, "ConfidenceGap", (-1.0, 1.0), higher_is_better=None
    ),
    "aurc": MetricInfo("AURC", "area below risk and coverage", aurc, _CLASSES, "AURC", _SHARE),
    "rmse": MetricInfo("RMSE", "root mean squared error", rmse, _POINT, "RMSE"),
    "mae": MetricInfo("MAE", "mean absolute error", mae, _POINT, "MAE"),
    "mape": MetricInfo("MAPE", "mean absolute error in percent", mape, _POINT, "MAPE", percent=True),
    "gaussian_nll": MetricInfo(
        "Gaussian NLL",
        "negative log-likelihood of N(mean, std²)",
        gaussian_nll,
        _GAUSS,
        "GaussianNLL",
        (-math.inf, math.inf),
    ),
    "pinball": MetricInfo("Pinball loss", "error of the predicted quantiles", pinball, _GAUSS, "PinballLoss"),
    "uce": MetricInfo("UCE", "squared error against variance", uce, _GAUSS, "UCE"),
    "ence": MetricInfo("ENCE", "relative error of the standard deviation", ence, _GAUSS, "ENCE"),
    "qce": MetricInfo("QCE", "coverage of intervals against their level", qce, _GAUSS, "QCE", _SHARE),
    "coverage": MetricInfo(
        "Coverage", "share inside the 95 % prediction interval", coverage, _GAUSS, "Coverage", _SHARE, None
    ),
    "uce_as_published": MetricInfo(
        "UCE (as published)", "UCE under the two-row reading", uce_as_published, _GAUSS, "UCEAsPublished"
    ),
    "ence_as_published": MetricInfo(
        "ENCE (as published)", "ENCE under the two-row reading", ence_as_published, _GAUSS, "ENCEAsPublished"
    ),
}


def metric_function(name: str) -> Callable[..., float]:
    """Return the function of a metric.

    >>> metric_function("ece").__name__
    'ece'
    """
    return METRICS[checks.known("metric", name, METRICS)].function


def names_of(task: str) -> tuple[str, ...]:
    """Return the names of a task's metrics, in the order in which tables show them.

    >>> names_of("regression")[:3]
    ('rmse', 'mae', 'mape')
    """
    checks.known("task", task, ("classification", "regression"))
    return tuple(name for name, info in METRICS.items() if info.task == task)
