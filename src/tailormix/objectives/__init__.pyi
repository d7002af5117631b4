__all__ = ["CleanTargets", "MixedTargets"]

from .clean_targets import CleanTargets
from .mixed_targets import MixedTargets
