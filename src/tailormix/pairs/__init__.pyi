__all__ = ["RandomPairs", "SelfPairs"]

from .random_pairs import RandomPairs
from .self_pairs import SelfPairs
