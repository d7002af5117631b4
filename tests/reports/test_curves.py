"""The numbers behind the diagrams."""

import numpy as np
import pytest
import torch
from scipy import stats

from support_metrics import classifier, regressor
from tailormix import metrics
from tailormix.metrics.classification import SampleStatistics, sample_statistics
from tailormix.metrics.inputs import classification_inputs
from tailormix.reports import reliability_curve, risk_coverage_curve, spread_curve
from tailormix.reports.curves import regression_risk, reliability_from


def test_bins_agree_with_scikit_learn_numpy_and_netcal() -> None:
    from netcal.metrics import ECE
    from sklearn.calibration import calibration_curve

    logits, targets = classifier()
    confidence, label = logits.softmax(1).max(1)
    curve = reliability_curve(logits, targets, from_logits=True, n_bins=10)
    full = curve.count > 0
    fraction, mean = calibration_curve((label == targets).numpy(), confidence.numpy(), n_bins=10)
    assert curve.accuracy[full] == pytest.approx(fraction)
    assert curve.confidence[full] == pytest.approx(mean)
    assert curve.count == pytest.approx(np.histogram(confidence, bins=10, range=(0, 1))[0])
    assert curve.ece == pytest.approx(ECE(10).measure(logits.softmax(1).numpy(), targets.numpy()))
    assert np.isnan(curve.accuracy[~full]).all()
    assert curve.mean_accuracy == pytest.approx(metrics.accuracy(logits, targets, from_logits=True))
    assert curve.mean_confidence == pytest.approx(float(confidence.mean()))


def test_intervals_of_bins_are_wilsons() -> None:
    """8 of 10 right: (p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n); four seeds count as one's points."""
    p, right = np.tile([0.3, 0.7], (40, 1)), np.arange(40) % 10 < 8
    one, four = reliability_curve(p[:10], right[:10]), reliability_from(statistics(p, right), seeds=4)
    z, n = stats.norm.ppf(0.975), 10
    middle, reach = 0.8 + z**2 / (2 * n), z * (0.8 * 0.2 / n + z**2 / (4 * n**2)) ** 0.5
    for curve in (one, four):
        full = curve.count > 0
        edges = [(middle - reach) / (1 + z**2 / n), (middle + reach) / (1 + z**2 / n)]
        assert np.array([curve.low[full], curve.high[full]]).ravel() == pytest.approx(edges)
        assert np.isnan(curve.low[~full]).all()
        assert list(curve.points[full]) == [10]


def statistics(p: np.ndarray, targets: np.ndarray) -> SampleStatistics:
    return sample_statistics(classification_inputs(p, targets))


def test_a_calibrated_model_stays_in_its_band() -> None:
    """Of 15 bins, drawn 40 times, about 95 % lie in the band."""
    inside, total = 0, 0
    random = torch.Generator().manual_seed(0)
    for _ in range(40):
        p = 0.5 + torch.rand(600, generator=random) / 2
        event = torch.bernoulli(p, generator=random).long()
        curve = reliability_curve(p, event, binary="positive")
        full = curve.count > 0
        inside += ((curve.band_low <= curve.accuracy) & (curve.accuracy <= curve.band_high))[full].sum()
        total += full.sum()
    assert 0.93 <= inside / total <= 1


def test_spread_by_hand() -> None:
    """σ 1, 1, 3 with errors 1, 3, 3, two bins: RMSE √5 and 3; the interval is that of n·MSE/χ²."""
    curve = spread_curve(np.zeros(3), np.array([1.0, 1, 3]), np.array([1.0, 3, 3]), n_bins=2)
    assert curve.observed == pytest.approx([5**0.5, 3])
    assert curve.predicted == pytest.approx([1, 3])
    assert curve.low[0] == pytest.approx((10 / stats.chi2.ppf(0.975, 2)) ** 0.5)
    assert curve.ence == pytest.approx((5**0.5 - 1) / 2)


def test_risk_by_hand_with_ties() -> None:
    """Losses 0; then 1 and 0 at one confidence share ½; then 1. Means 0, ¼, ⅓, ½; best order 0, 0, ⅓, ½."""
    curve = risk_coverage_curve(np.array([0.9, 0.5, 0.5, 0.1]), np.array([0.0, 1, 0, 1]))
    assert curve.risk == pytest.approx([0, 1 / 4, 1 / 3, 1 / 2])
    assert curve.best == pytest.approx([0, 0, 1 / 3, 1 / 2])
    assert curve.coverage == pytest.approx([0.25, 0.5, 0.75, 1])
    assert curve.area == pytest.approx((1 / 4 + 1 / 3 + 1 / 2) / 4)


def test_risk_of_a_regression_ends_at_its_mean_squared_error() -> None:
    mean, std, targets = regressor(2000)
    curve = regression_risk(mean, std, targets)
    assert curve.risk[-1] == pytest.approx(metrics.rmse(mean, targets) ** 2)
    assert curve.risk[100] < curve.risk[-1]
    assert len(curve.risk) <= 500
