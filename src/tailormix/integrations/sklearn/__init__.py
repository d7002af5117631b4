"""scikit-learn estimators that train with Mixup and whose probabilities and intervals are calibrated."""

from tailormix.integrations.sklearn.classifier import MixupClassifier
from tailormix.integrations.sklearn.regressor import MixupRegressor

__all__ = [
    "MixupClassifier",
    "MixupRegressor",
]
