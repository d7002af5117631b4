"""Variance scaling."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from support_calibration import gaussian
from tailormix import metrics
from tailormix.calibration import VarianceScaling
from tailormix.calibration.predictions import LeakError, Predictions


def test_recovers_a_known_distortion_within_its_standard_error() -> None:
    """Over 20 draws (s − 1.5²)/error has mean near 0 and spread near 1."""
    scores = []
    for seed in range(20):
        scaler = VarianceScaling().fit(*gaussian(seed=seed))
        scores.append((scaler.scale - 1.5**2) / scaler.fitted.standard_error)
    assert abs(np.mean(scores)) < 3 / np.sqrt(20)
    assert 0.5 < np.std(scores) < 1.6


def test_minimises_the_gaussian_nll() -> None:
    mean, std, targets = gaussian(500)
    peer = minimize_scalar(lambda s: metrics.gaussian_nll(mean, np.sqrt(s) * std, targets), bounds=(0.1, 10))
    scaler = VarianceScaling().fit(mean, std, targets)
    assert scaler.scale == pytest.approx(peer.x, rel=1e-4)
    assert metrics.coverage(mean, scaler.transform(std), targets) == pytest.approx(0.95, abs=0.03)


def test_predictions_are_guarded_and_keep_their_mean() -> None:
    mean, std, targets = gaussian(60)
    val = Predictions(targets=targets, mean=mean, std=std, ids=np.arange(60), split="val")
    test = Predictions(targets=targets, mean=mean, std=std, ids=np.arange(60) + 60, split="test")
    scaler = VarianceScaling().fit(val)
    new = scaler.transform(test)
    assert new.std == pytest.approx(std * np.sqrt(scaler.scale))
    assert new.mean is mean
    with pytest.raises(LeakError):
        scaler.transform(val)
    with pytest.raises(LeakError):
        VarianceScaling().fit(test)


def test_bad_use() -> None:
    one = np.ones(2)
    with pytest.raises(ValueError, match="std must be > 0"):
        VarianceScaling().fit(one, one * 0, one)
    with pytest.raises(ValueError, match="targets must differ from mean"):
        VarianceScaling().fit(one, one, one)
    with pytest.raises(RuntimeError, match="not fitted"):
        VarianceScaling().transform(one)
    with pytest.raises(ValueError, match="classifier"):
        VarianceScaling().fit(Predictions(targets=np.array([0, 1]), logits=np.eye(2)))
