__all__ = ["MixupClassifier", "MixupRegressor"]

from .classifier import MixupClassifier as MixupClassifier
from .regressor import MixupRegressor as MixupRegressor
