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

from .catalogue import LOSSES as LOSSES
from .catalogue import LossRecord as LossRecord
from .catalogue import build as build
from .cpc import CPC as CPC
from .crl import CRL as CRL
from .cross_entropy import CrossEntropy as CrossEntropy
from .entropy_penalty import EntropyPenalty as EntropyPenalty
from .flsd import FLSD as FLSD
from .focal import FocalLoss as FocalLoss
from .label_smoothing import LabelSmoothing as LabelSmoothing
from .mbls import MbLS as MbLS
from .mmce import MMCE as MMCE
from .weighted_mmce import WeightedMMCE as WeightedMMCE
