"""Calibration losses: criteria that go with any method.

``criterion(logits, targets)`` returns one loss per sample, shape (n,), where the definition is a mean of such
terms, and a scalar where it is not (both forms of MMCE). Targets are class indices (n,) or rows (n, C) of
class probabilities, as mixing makes them; CRL alone takes indices only. ``registry.LOSSES`` names them all.
"""

from tailormix.losses.cpc import CPC
from tailormix.losses.crl import CRL
from tailormix.losses.focal import FLSD, FocalLoss
from tailormix.losses.likelihood import CrossEntropy, EntropyPenalty, LabelSmoothing, MbLS
from tailormix.losses.mmce import MMCE, WeightedMMCE
from tailormix.losses.registry import LOSSES, LossRecord, build

__all__ = [
    "CPC",
    "CRL",
    "FLSD",
    "LOSSES",
    "MMCE",
    "CrossEntropy",
    "EntropyPenalty",
    "FocalLoss",
    "LabelSmoothing",
    "LossRecord",
    "MbLS",
    "WeightedMMCE",
    "build",
]
