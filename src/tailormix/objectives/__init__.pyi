__all__ = [
    "CleanTargets",
    "DecoupledLogits",
    "DecoupledStages",
    "LocallyWeighted",
    "MixedTargets",
    "RankedConfidence",
    "RankedMargin",
    "Regulariser",
]

from .clean_targets import CleanTargets
from .decoupling import DecoupledLogits, DecoupledStages
from .locally_weighted import LocallyWeighted
from .mixed_targets import MixedTargets
from .ranking import RankedConfidence, RankedMargin
from .regulariser import Regulariser
