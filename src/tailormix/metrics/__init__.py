"""Measures of accuracy and calibration: pure functions, and torchmetrics classes over them.

Functions take torch tensors or numpy arrays and return a Python float. The classes, in capitals or CamelCase,
hold sums that reduce over ranks; they are loaded on first use, so the functions work without torchmetrics.
"""

from tailormix.metrics.bootstrap import Comparison, Interval, interval, paired_test
from tailormix.metrics.classification import accuracy, aece, brier, classwise_ece, debiased_ece, ece, mce, nll
from tailormix.metrics.modules import (
    AECE,
    ECE,
    ENCE,
    MAE,
    MAPE,
    MCE,
    NLL,
    RMSE,
    UCE,
    Accuracy,
    Brier,
    ClasswiseECE,
    Coverage,
    DebiasedECE,
    ENCEAsPublished,
    GaussianNLL,
    UCEAsPublished,
)
from tailormix.metrics.registry import METRICS
from tailormix.metrics.regression import (
    coverage,
    ence,
    ence_as_published,
    gaussian_nll,
    mae,
    mape,
    rmse,
    uce,
    uce_as_published,
)
from tailormix.metrics.summary import regression_summary, summary

__all__ = [
    "AECE",
    "ECE",
    "ENCE",
    "MAE",
    "MAPE",
    "MCE",
    "METRICS",
    "NLL",
    "RMSE",
    "UCE",
    "Accuracy",
    "Brier",
    "ClasswiseECE",
    "Comparison",
    "Coverage",
    "DebiasedECE",
    "ENCEAsPublished",
    "GaussianNLL",
    "Interval",
    "UCEAsPublished",
    "accuracy",
    "aece",
    "brier",
    "classwise_ece",
    "coverage",
    "debiased_ece",
    "ece",
    "ence",
    "ence_as_published",
    "gaussian_nll",
    "interval",
    "mae",
    "mape",
    "mce",
    "nll",
    "paired_test",
    "regression_summary",
    "rmse",
    "summary",
    "uce",
    "uce_as_published",
]
