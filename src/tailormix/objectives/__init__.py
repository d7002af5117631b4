"""Question (iv): what is learned from it?"""

from tailormix.objectives.decoupling import DecoupledLogits, DecoupledStages
from tailormix.objectives.local import LocallyWeighted
from tailormix.objectives.mixed import CleanTargets, MixedTargets
from tailormix.objectives.ranking import RankedConfidence, RankedMargin
from tailormix.objectives.regulariser import Regulariser

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
