"""Every metric by name."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tailormix import checks

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class MetricInfo:
    """What a metric is: its title and unit, the arrays it takes, and where its function and class live."""

    title: str
    summary: str
    arrays: tuple[str, ...]
    module: str
    class_name: str
    higher_is_better: bool | None = False
    percent: bool = False

    @property
    def task(self) -> str:
        """``"classification"`` or ``"regression"``."""
        return "classification" if self.arrays[0] == "predictions" else "regression"


_ROWS = ("predictions", "targets")
_POINT = ("mean", "targets")
_GAUSS = ("mean", "std", "targets")

METRICS: dict[str, MetricInfo] = {
    "accuracy": MetricInfo("Accuracy", "top-1 accuracy", _ROWS, "classification", "Accuracy", True),
    "nll": MetricInfo("NLL", "negative log-likelihood", _ROWS, "classification", "NLL"),
    "brier": MetricInfo("Brier", "squared distance to the one-hot target", _ROWS, "classification", "Brier"),
    "ece": MetricInfo("ECE", "expected calibration error", _ROWS, "classification", "ECE"),
    "aece": MetricInfo("AECE", "calibration error, equal-mass bins", _ROWS, "classification", "AECE"),
    "classwise_ece": MetricInfo(
        "Class-wise ECE", "calibration error of each class", _ROWS, "classification", "ClasswiseECE"
    ),
    "debiased_ece": MetricInfo(
        "Debiased ECE", "l2 calibration error less its noise", _ROWS, "classification", "DebiasedECE"
    ),
    "mce": MetricInfo("MCE", "maximum calibration error", _ROWS, "classification", "MCE"),
    "rmse": MetricInfo("RMSE", "root mean squared error", _POINT, "regression", "RMSE"),
    "mae": MetricInfo("MAE", "mean absolute error", _POINT, "regression", "MAE"),
    "mape": MetricInfo("MAPE", "mean absolute error in percent", _POINT, "regression", "MAPE", percent=True),
    "gaussian_nll": MetricInfo(
        "Gaussian NLL", "negative log-likelihood of N(mean, std²)", _GAUSS, "regression", "GaussianNLL"
    ),
    "uce": MetricInfo("UCE", "squared error against variance", _GAUSS, "regression", "UCE"),
    "ence": MetricInfo("ENCE", "relative error of the standard deviation", _GAUSS, "regression", "ENCE"),
    "coverage": MetricInfo(
        "Coverage", "share inside the 95 % prediction interval", _GAUSS, "regression", "Coverage", None
    ),
    "uce_as_published": MetricInfo(
        "UCE (as published)", "UCE under the two-row reading", _GAUSS, "regression", "UCEAsPublished"
    ),
    "ence_as_published": MetricInfo(
        "ENCE (as published)", "ENCE under the two-row reading", _GAUSS, "regression", "ENCEAsPublished"
    ),
}


def metric_function(name: str) -> Callable[..., float]:
    """Return the function of a metric.

    >>> metric_function("ece").__name__
    'ece'
    """
    info = METRICS[checks.known("metric", name, METRICS)]
    function: Callable[..., Any] = getattr(import_module(f"tailormix.metrics.{info.module}"), name)
    return function


def names_of(task: str) -> tuple[str, ...]:
    """Return the names of a task's metrics, in the order in which tables show them.

    >>> names_of("regression")[:3]
    ('rmse', 'mae', 'mape')
    """
    checks.known("task", task, ("classification", "regression"))
    return tuple(name for name, info in METRICS.items() if info.task == task)
