"""Left at their defaults, estimators train on whatever rows there are."""

import numpy as np
import pytest
from torch import nn

from estimators.quick import REAL, X, Y, classifier, regressor
from tailormix.methods import METHODS


def test_too_few_rows_to_hold_out_mean_no_calibration() -> None:
    few = classifier().fit(X[:12], np.arange(12) % 3)
    assert few.temperature_ == 1
    assert few.predict_proba(X).shape == (60, 3)
    assert regressor().fit(X[:6], REAL[:6]).variance_scale_ == 1


def test_batch_norm_never_meets_a_batch_of_one() -> None:
    """33 rows in batches of at most 32 are 17 and 16."""

    def normed(n_features: int, n_outputs: int) -> nn.Module:
        return nn.Sequential(nn.Linear(n_features, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, n_outputs))

    model = classifier(module=normed, calibrate=False).fit(X[:33], Y[:33])
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("method", sorted(set(METHODS) - {"c-mixup", "cutmix", "sk-cutmix"}))
def test_every_method_for_tables_classifies(method: str) -> None:
    model = classifier(method=method, max_iter=1, hidden_layer_sizes=(8, 8)).fit(X, Y)
    assert np.allclose(model.predict_proba(X).sum(1), 1)


def test_divergence_is_told() -> None:
    with pytest.raises(ValueError, match="training diverged"):
        regressor(method="erm", learning_rate=1e18, max_iter=20).fit(X, REAL)
