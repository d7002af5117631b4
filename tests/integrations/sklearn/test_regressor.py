"""The regressor: shapes, spreads and intervals."""

from statistics import NormalDist

import numpy as np
import pytest
import torch
from torch import nn

from integrations.sklearn.quick import REAL, X, regressor
from tailormix.integrations.sklearn.regressor import spread, variance_scale


def without_dropout(n_features: int, n_outputs: int) -> nn.Module:
    return nn.Linear(n_features, n_outputs)


def test_it_learns() -> None:
    assert regressor(max_iter=60, learning_rate=0.01).fit(X, REAL).score(X, REAL) > 0.9


def test_intervals_are_gaussian_and_the_mean_is_the_same_without_them() -> None:
    model = regressor().fit(X, REAL)
    mean, std = model.predict(X, return_std=True)
    assert np.array_equal(mean, model.predict(X))
    assert mean.shape == std.shape == (60,)
    assert (std > 0).all()
    low, high = model.predict_interval(X, coverage=0.8)
    reach = NormalDist().inv_cdf(0.9)
    assert np.allclose(low, mean - reach * std)
    assert np.allclose(high, mean + reach * std)


def test_the_spread_is_scaled_on_rows_held_out() -> None:
    """√s times the spread of dropout: s = 1 without calibration, and the weights do not depend on it."""
    raw, scaled = regressor(calibrate=False, refit=False), regressor(refit=False)
    raw.fit(X, REAL), scaled.fit(X, REAL)
    assert raw.variance_scale_ == 1 != scaled.variance_scale_
    assert scaled.variance_scale_ == regressor(refit=True).fit(X, REAL).variance_scale_


def test_variance_scale_by_hand() -> None:
    """Errors 1 and 3 with spreads 1 and 2: (1/1 + 9/4) / 2 = 1.625. Without errors it is 1."""
    mean, std = torch.zeros(2, 1), torch.tensor([[1.0], [2.0]])
    assert variance_scale(mean, std, torch.tensor([[1.0], [3.0]])) == pytest.approx(1.625)
    assert variance_scale(mean, std, mean) == 1


def test_a_silent_network_has_a_smallest_spread() -> None:
    """Weights of 0: every pass gives 0, and intervals stay defined."""
    module = nn.Sequential(nn.Dropout(0.5), nn.Linear(2, 1, bias=False))
    nn.init.zeros_(module[1].weight)
    assert (spread(module, torch.ones(3, 2), seed=0, samples=5) == 1e-6).all()


def test_targets_have_a_scale_of_their_own() -> None:
    """Targets 1000 y + 5 move mean and spread alike: inside, targets are standardised."""
    mean, std = regressor().fit(X, REAL).predict(X, return_std=True)
    moved, wider = regressor().fit(X, 1000 * REAL + 5).predict(X, return_std=True)
    assert np.allclose(moved, 1000 * mean + 5, rtol=1e-3)
    assert np.allclose(wider, 1000 * std, rtol=1e-3)


def test_constant_targets() -> None:
    mean, std = regressor(max_iter=1).fit(X, np.full(60, 7.0)).predict(X, return_std=True)
    assert np.isfinite(mean).all()
    assert np.isfinite(std).all()


def test_several_targets() -> None:
    y = np.stack([REAL, -REAL], axis=1)
    model = regressor().fit(X, y)
    mean, std = model.predict(X, return_std=True)
    assert mean.shape == std.shape == (60, 2)
    with pytest.raises(ValueError, match="y must stay of 2 columns, got 1"):
        model.partial_fit(X, REAL)


def test_partial_fit_learns_batch_by_batch() -> None:
    model = regressor(learning_rate=0.01)
    for _ in range(20):
        for rows in (slice(0, 30), slice(30, 60)):
            model.partial_fit(X[rows], REAL[rows])
    assert model.n_iter_ == 40
    assert model.variance_scale_ == 1
    assert model.score(X, REAL) > 0.8


def test_modules_without_dropout_predict_a_mean_only() -> None:
    model = regressor(module=without_dropout, calibrate=False).fit(X, REAL)
    assert model.predict(X).shape == (60,)
    with pytest.raises(ValueError, match="return_std needs dropout in the module"):
        model.predict(X, return_std=True)
    with pytest.raises(ValueError, match="calibrate=True needs dropout in the module"):
        regressor(module=without_dropout).fit(X, REAL)
    with pytest.raises(ValueError, match="calibrate=True needs dropout in the module"):
        regressor(dropout=0.0, calibrate=np.True_).fit(X, REAL)
    # partial_fit calibrates nothing
    assert regressor(module=without_dropout).partial_fit(X, REAL).predict(X).shape == (60,)
