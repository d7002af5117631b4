"""Measures of accuracy and calibration: pure functions, and torchmetrics classes over them.

Functions take torch tensors or numpy arrays and return a Python float. The classes, in capitals or CamelCase,
hold sums that reduce over ranks.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tailormix.metrics.bootstrap import Comparison, Interval, interval, paired_test
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
    summary,
)
from tailormix.metrics.registry import METRICS
from tailormix.metrics.regression import (
    coverage,
    ence,
    ence_as_published,
    gaussian_nll,
    mae,
    mape,
    pinball,
    qce,
    regression_summary,
    rmse,
    uce,
    uce_as_published,
)

if TYPE_CHECKING:
    from tailormix.metrics.modules import (
        AECE,
        AURC,
        ECE,
        ENCE,
        MAE,
        MAPE,
        MCE,
        NLL,
        QCE,
        RMSE,
        UCE,
        Accuracy,
        Brier,
        ClasswiseECE,
        ConfidenceGap,
        Coverage,
        DebiasedECE,
        ENCEAsPublished,
        GaussianNLL,
        PinballLoss,
        UCEAsPublished,
    )

__all__ = [
    "AECE",
    "AURC",
    "ECE",
    "ENCE",
    "MAE",
    "MAPE",
    "MCE",
    "METRICS",
    "NLL",
    "QCE",
    "RMSE",
    "UCE",
    "Accuracy",
    "Brier",
    "ClasswiseECE",
    "Comparison",
    "ConfidenceGap",
    "Coverage",
    "DebiasedECE",
    "ENCEAsPublished",
    "GaussianNLL",
    "Interval",
    "PinballLoss",
    "UCEAsPublished",
    "accuracy",
    "aece",
    "aurc",
    "brier",
    "classwise_ece",
    "coverage",
    "debiased_ece",
    "ece",
    "ence",
    "ence_as_published",
    "gap",
    "gaussian_nll",
    "interval",
    "mae",
    "mape",
    "mce",
    "nll",
    "paired_test",
    "pinball",
    "qce",
    "regression_summary",
    "rmse",
    "summary",
    "uce",
    "uce_as_published",
]


def __getattr__(name: str) -> Any:
    """Load the torchmetrics classes on first use: importing torchmetrics takes 2 to 3 s."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("tailormix.metrics.modules"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
