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

from .adaptive_calibration import aece as aece
from .as_published import ence_as_published as ence_as_published
from .as_published import uce_as_published as uce_as_published
from .catalogue import METRICS as METRICS
from .classification_modules import AECE as AECE
from .classification_modules import ECE as ECE
from .classification_modules import MCE as MCE
from .classification_modules import NLL as NLL
from .classification_modules import Accuracy as Accuracy
from .classification_modules import Brier as Brier
from .classification_modules import ClasswiseECE as ClasswiseECE
from .classification_modules import DebiasedECE as DebiasedECE
from .classwise_calibration import classwise_ece as classwise_ece
from .debiased_calibration import debiased_ece as debiased_ece
from .expected_calibration import ece as ece
from .expected_calibration import mce as mce
from .gaussian import coverage as coverage
from .gaussian import gaussian_nll as gaussian_nll
from .intervals import Comparison as Comparison
from .intervals import interval as interval
from .intervals import paired_test as paired_test
from .point_errors import mae as mae
from .point_errors import mape as mape
from .point_errors import rmse as rmse
from .regression_modules import ENCE as ENCE
from .regression_modules import MAE as MAE
from .regression_modules import MAPE as MAPE
from .regression_modules import RMSE as RMSE
from .regression_modules import UCE as UCE
from .regression_modules import Coverage as Coverage
from .regression_modules import ENCEAsPublished as ENCEAsPublished
from .regression_modules import GaussianNLL as GaussianNLL
from .regression_modules import UCEAsPublished as UCEAsPublished
from .resampling import Interval as Interval
from .scores import accuracy as accuracy
from .scores import brier as brier
from .scores import nll as nll
from .summaries import regression_summary as regression_summary
from .summaries import summary as summary
from .variance_calibration import ence as ence
from .variance_calibration import uce as uce
