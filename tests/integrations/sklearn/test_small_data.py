"""Few rows: the default calibrates wherever one row can be held out for another that stays."""

import numpy as np
import pytest
from torch import nn

from integrations.sklearn.quick import REAL, X, Y, classifier, regressor
from tailormix.methods import METHODS


@pytest.mark.parametrize("labels", [[0, 0, 1, 1], [0] * 4 + [1], [0, 1, 2] * 2, [0, 1, 2] * 4 + [3]])
def test_a_classifier_calibrates_few_rows(labels: list[int]) -> None:
    """Down to one row held out of each pair, and beside classes of one row that are trained on."""
    few = classifier().fit(X[: len(labels)], labels)
    assert few.temperature_ != 1
    assert few.predict_proba(X).shape == (60, max(labels) + 1)


def test_a_regressor_calibrates_four_rows_and_without_calibration_two_will_do() -> None:
    assert regressor().fit(X[:4], REAL[:4]).variance_scale_ != 1
    assert classifier(calibrate=False).fit(X[:2], [0, 1]).temperature_ == 1
    assert regressor(calibrate=False).fit(X[:2], REAL[:2]).variance_scale_ == 1


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
