"""Small data and quick estimators for these tests."""

from typing import Any

import numpy as np
from sklearn.datasets import make_blobs

from tailormix.integrations.sklearn import MixupClassifier, MixupRegressor

X, Y = make_blobs(60, centers=3, n_features=4, cluster_std=3.0, random_state=0)
REAL = X @ np.array([1.0, -2.0, 0.5, 0.0]) + np.random.default_rng(0).normal(size=60)


def classifier(**options: Any) -> MixupClassifier:
    """A classifier that takes a blink to train, with nothing to choose."""
    small = {"method": "sk-mixup", "weight_decay": 0.01, "hidden_layer_sizes": (8,), "max_iter": 3}
    small["random_state"] = 0
    return MixupClassifier(**{**small, **options})


def regressor(**options: Any) -> MixupRegressor:
    """A regressor that takes a blink to train."""
    return MixupRegressor(**{"hidden_layer_sizes": (8,), "max_iter": 3, "random_state": 0, **options})
