__all__ = ["DistanceQuantile", "LabelDensity", "OptimalTransport", "RandomPairs", "SelfPairs"]

from .distance_quantile import DistanceQuantile
from .label_density import LabelDensity
from .optimal_transport import OptimalTransport
from .random_pairs import RandomPairs
from .self_pairs import SelfPairs
