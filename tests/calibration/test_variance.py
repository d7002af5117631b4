"""Variance scaling."""

from pathlib import Path

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


def test_without_any_spread_each_output_gets_its_root_mean_squared_error(tmp_path: Path) -> None:
    mean, targets = np.zeros((4, 2)), np.array([[3.0, 30.0], [-4.0, 40.0], [5.0, -50.0], [0.0, 0.0]])
    scaler = VarianceScaling().fit(mean, np.zeros((4, 2)), targets)
    again = VarianceScaling.load(scaler.save(tmp_path / "calibrator.json"))
    assert again.transform(np.zeros((3, 2))) == pytest.approx(np.sqrt([[12.5, 1250.0]] * 3))
    assert (again.scale, "No spread was predicted" in again.fitted.note) == (pytest.approx(1), True)


def test_a_row_without_spread_counts_as_the_smallest_other_one() -> None:
    """S = (1² + ½² + 1²) / 3 = 0.75."""
    scaler = VarianceScaling().fit(np.zeros(3), np.array([1.0, 2.0, 0.0]), np.array([1.0, 1.0, 1.0]))
    assert scaler.scale == pytest.approx(0.75)
    assert scaler.transform(np.array([0.0, 3.0])) == pytest.approx(np.array([1.0, 3.0]) * 0.75**0.5)
    assert scaler.fitted.note == ""


def test_bad_use() -> None:
    one = np.ones(2)
    for std in (one, 0 * one):
        with pytest.raises(ValueError, match="targets must differ from mean"):
            VarianceScaling().fit(one, std, one)
    with pytest.raises(RuntimeError, match="not fitted"):
        VarianceScaling().transform(one)
    with pytest.raises(ValueError, match="classifier"):
        VarianceScaling().fit(Predictions(targets=np.array([0, 1]), logits=np.eye(2)))
