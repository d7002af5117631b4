"""Every metric against an implementation that nobody here wrote."""

import numpy as np
import pytest
import torch
from netcal import metrics as netcal
from scipy import stats

from support_metrics import classifier, regressor
from tailormix import metrics

LOGITS, TARGETS = classifier()
P = LOGITS.softmax(1)
LEVELS = np.linspace(0.05, 0.95, 19)


@pytest.mark.parametrize("n_bins", [1, 7, 15])
def test_ece_and_mce_agree_with_netcal(n_bins: int) -> None:
    ours = metrics.ece(P, TARGETS, n_bins=n_bins), metrics.mce(P, TARGETS, n_bins=n_bins)
    peer = (kind(n_bins).measure(P.numpy(), TARGETS.numpy()) for kind in (netcal.ECE, netcal.MCE))
    assert ours == pytest.approx(tuple(peer), abs=1e-12)


def test_aece_agrees_with_netcals_average_over_quantile_bins() -> None:
    """With equal masses the average gap of ACE is AECE; 600 samples fill 15 bins evenly."""
    peer = netcal.ACE(15, equal_intervals=False).measure(P.numpy(), TARGETS.numpy())
    assert metrics.aece(P, TARGETS) == pytest.approx(peer, abs=1e-12)


def test_positive_class_ece_agrees_with_netcal_on_one_column() -> None:
    column, event = P[:, 0].numpy(), (TARGETS == 0).long().numpy()
    assert metrics.ece(column, event, binary="positive") == pytest.approx(
        netcal.ECE(15).measure(column, event)
    )


@pytest.mark.parametrize("norm", ["l1", "l2", "max"])
@pytest.mark.parametrize("from_logits", [True, False])
def test_ece_agrees_with_torchmetrics_away_from_one(norm: str, from_logits: bool) -> None:
    """The peer computes in float32."""
    from torchmetrics.functional.classification import multiclass_calibration_error

    given = LOGITS if from_logits else P
    peer = multiclass_calibration_error(given, TARGETS, num_classes=7, n_bins=15, norm=norm)
    assert metrics.ece(given, TARGETS, norm=norm, from_logits=from_logits) == pytest.approx(
        float(peer), abs=1e-6
    )


def test_binary_top_label_and_positive_agree_with_torchmetrics() -> None:
    from torchmetrics.functional.classification import binary_calibration_error, multiclass_calibration_error

    column = P[:, 0].contiguous()
    event = (TARGETS == 0).long()
    positive = binary_calibration_error(column, event, n_bins=15)
    both = multiclass_calibration_error(torch.stack([1 - column, column], 1), event, num_classes=2, n_bins=15)
    assert metrics.ece(column, event, binary="positive") == pytest.approx(float(positive), abs=1e-6)
    assert metrics.ece(column, event, binary="top-label") == pytest.approx(float(both), abs=1e-6)


def test_debiased_ece_agrees_with_torchmetrics_debiased_l2() -> None:
    from torchmetrics.functional.classification.calibration_error import _ce_compute

    confidence, label = P.max(1)
    peer = _ce_compute(confidence, (label == TARGETS).double(), 15, norm="l2", debias=True)
    assert metrics.debiased_ece(P, TARGETS) == pytest.approx(float(peer), abs=1e-6)


def test_classwise_ece_is_netcals_ece_of_every_column_averaged() -> None:
    columns = [netcal.ECE(15).measure(P[:, c].numpy(), (c == TARGETS).long().numpy()) for c in range(7)]
    assert metrics.classwise_ece(P, TARGETS) == pytest.approx(np.mean(columns), abs=1e-12)


def test_scores_agree_with_scikit_learn() -> None:
    from sklearn.metrics import accuracy_score, brier_score_loss, log_loss

    p, y = P.numpy(), TARGETS.numpy()
    assert metrics.nll(p, y) == pytest.approx(log_loss(y, p, labels=range(7)), rel=1e-12)
    assert metrics.nll(LOGITS, TARGETS, from_logits=True) == pytest.approx(metrics.nll(p, y), rel=1e-12)
    assert metrics.accuracy(p, y) == accuracy_score(y, p.argmax(1))
    full = brier_score_loss(y, p, labels=range(7), scale_by_half=False)
    assert metrics.brier(p, y) == pytest.approx(full, rel=1e-12)
    one = brier_score_loss(y == 0, p[:, 0])
    assert metrics.brier(p[:, 0], (y == 0).astype(int), binary="positive") == pytest.approx(one, rel=1e-12)


@pytest.mark.parametrize("outputs", [None, 3])
def test_regression_calibration_agrees_with_netcal_on_tuples(outputs: int | None) -> None:
    mean, std, targets = (one.numpy() for one in regressor(outputs=outputs))
    assert metrics.uce(mean, std, targets) == pytest.approx(
        np.mean(netcal.UCE(15).measure((mean, std), targets)), rel=1e-10
    )
    assert metrics.ence(mean, std, targets) == pytest.approx(
        np.mean(netcal.ENCE(15).measure((mean, std), targets)), rel=1e-10
    )
    conditional = netcal.QCE(15, marginal=False)
    assert metrics.qce(mean, std, targets) == pytest.approx(
        conditional.measure((mean, std), targets, q=LEVELS, reduction="mean"), rel=1e-10
    )


def test_as_published_agrees_with_netcal_on_one_array_of_two_rows() -> None:
    mean, std, targets = (one.numpy() for one in regressor())
    rows = np.stack([mean, std])
    assert metrics.uce_as_published(mean, std, targets) == pytest.approx(
        float(netcal.UCE(15).measure(rows, targets))
    )
    assert metrics.ence_as_published(mean, std, targets) == pytest.approx(
        float(netcal.ENCE(15).measure(rows, targets))
    )


def test_gaussian_scores_agree_with_scipy() -> None:
    mean, std, targets = (one.numpy() for one in regressor())
    normal = stats.norm(mean, std)
    assert metrics.gaussian_nll(mean, std, targets) == pytest.approx(
        -normal.logpdf(targets).mean(), rel=1e-12
    )
    low, high = normal.interval(0.8)
    inside = ((low <= targets) & (targets <= high)).mean()
    assert metrics.coverage(mean, std, targets, level=0.8) == pytest.approx(inside)


def test_pinball_loss_agrees_with_scikit_learn_and_is_about_half_the_crps() -> None:
    """CRPS of a Gaussian: σ (z (2Φ(z) − 1) + 2φ(z) − 1/√π); levels beyond 5 and 95 % matter little."""
    from sklearn.metrics import mean_pinball_loss

    mean, std, targets = (one.numpy() for one in regressor(outputs=2))
    peer = [mean_pinball_loss(targets, stats.norm(mean, std).ppf(q), alpha=q) for q in LEVELS]
    assert metrics.pinball(mean, std, targets) == pytest.approx(np.mean(peer), rel=1e-12)
    z = (targets - mean) / std
    crps = std * (z * (2 * stats.norm.cdf(z) - 1) + 2 * stats.norm.pdf(z) - 1 / np.sqrt(np.pi))
    assert 2 * metrics.pinball(mean, std, targets) == pytest.approx(crps.mean(), rel=0.1)


def test_point_errors_agree_with_scikit_learn() -> None:
    from sklearn.metrics import mean_absolute_error, mean_absolute_percentage_error, root_mean_squared_error

    mean, _, targets = (one.numpy() for one in regressor(outputs=2))
    flat, truth = mean.reshape(-1), targets.reshape(-1)
    assert metrics.rmse(mean, targets) == pytest.approx(root_mean_squared_error(truth, flat), rel=1e-12)
    assert metrics.mae(mean, targets) == pytest.approx(mean_absolute_error(truth, flat), rel=1e-12)
    assert metrics.mape(mean, targets) == pytest.approx(
        100 * mean_absolute_percentage_error(truth, flat), rel=1e-12
    )
