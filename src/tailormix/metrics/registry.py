"""Every metric by name."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailormix import checks
from tailormix.metrics import classification, regression

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
    higher_is_better: bool | None = False
    bounds: tuple[float, float] = (0.0, math.inf)
    percent: bool = False

    @property
    def task(self) -> str:
        """``"classification"`` or ``"regression"``."""
        return "classification" if self.arrays[0] == "predictions" else "regression"


_CLASSES = ("predictions", "targets")
_POINT = ("mean", "targets")
_GAUSSIAN = ("mean", "std", "targets")
_SHARE = (0.0, 1.0)

METRICS: dict[str, MetricInfo] = {
    "accuracy": MetricInfo(
        "Accuracy", "top-1 accuracy", classification.accuracy, _CLASSES, "Accuracy", True, _SHARE
    ),
    "nll": MetricInfo("NLL", "negative log-likelihood", classification.nll, _CLASSES, "NLL"),
    "brier": MetricInfo(
        "Brier",
        "squared distance to the one-hot target",
        classification.brier,
        _CLASSES,
        "Brier",
        bounds=(0.0, 2.0),
    ),
    "ece": MetricInfo(
        "ECE", "expected calibration error", classification.ece, _CLASSES, "ECE", bounds=_SHARE
    ),
    "aece": MetricInfo(
        "AECE", "calibration error, equal-mass bins", classification.aece, _CLASSES, "AECE", bounds=_SHARE
    ),
    "classwise_ece": MetricInfo(
        "Class-wise ECE",
        "calibration error of each class",
        classification.classwise_ece,
        _CLASSES,
        "ClasswiseECE",
        bounds=_SHARE,
    ),
    "debiased_ece": MetricInfo(
        "Debiased ECE",
        "l2 calibration error less its noise",
        classification.debiased_ece,
        _CLASSES,
        "DebiasedECE",
        bounds=_SHARE,
    ),
    "mce": MetricInfo("MCE", "maximum calibration error", classification.mce, _CLASSES, "MCE", bounds=_SHARE),
    "rmse": MetricInfo("RMSE", "root mean squared error", regression.rmse, _POINT, "RMSE"),
    "mae": MetricInfo("MAE", "mean absolute error", regression.mae, _POINT, "MAE"),
    "mape": MetricInfo(
        "MAPE", "mean absolute error in percent", regression.mape, _POINT, "MAPE", percent=True
    ),
    "gaussian_nll": MetricInfo(
        "Gaussian NLL",
        "negative log-likelihood of N(mean, std²)",
        regression.gaussian_nll,
        _GAUSSIAN,
        "GaussianNLL",
        bounds=(-math.inf, math.inf),
    ),
    "uce": MetricInfo("UCE", "squared error against variance", regression.uce, _GAUSSIAN, "UCE"),
    "ence": MetricInfo(
        "ENCE", "relative error of the standard deviation", regression.ence, _GAUSSIAN, "ENCE"
    ),
    "coverage": MetricInfo(
        "Coverage",
        "share inside the 95 % prediction interval",
        regression.coverage,
        _GAUSSIAN,
        "Coverage",
        None,
        _SHARE,
    ),
    "uce_as_published": MetricInfo(
        "UCE (as published)",
        "UCE under the two-row reading",
        regression.uce_as_published,
        _GAUSSIAN,
        "UCEAsPublished",
    ),
    "ence_as_published": MetricInfo(
        "ENCE (as published)",
        "ENCE under the two-row reading",
        regression.ence_as_published,
        _GAUSSIAN,
        "ENCEAsPublished",
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
