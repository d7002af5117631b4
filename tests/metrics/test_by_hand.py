"""Values worked by hand, and the definitions at the edges."""

import math

import numpy as np
import pytest
import torch

from tailormix import metrics

TEN = torch.tensor([0.55, 0.55, 0.65, 0.65, 0.65, 0.75, 0.95, 0.95, 1.0, 1.0], dtype=torch.float64)
EVENT = torch.tensor([1, 0, 1, 1, 0, 0, 1, 1, 1, 0])
P = torch.stack([1 - TEN, TEN], dim=1)

LEVELS = np.arange(1, 20) / 20


def test_ten_points_equal_width() -> None:
    """Ten bins. Bin: count, confidence, accuracy, gap.

    [0.5, 0.6): 2, 0.55, 1/2, 0.05;  [0.6, 0.7): 3, 0.65, 2/3, 1/60;  [0.7, 0.8): 1, 0.75, 0, 0.75; [0.9,
    1.0]: 4, (0.95·2 + 2)/4 = 0.975, 3/4, 0.225. l1 = (2·0.05 + 3/60 + 0.75 + 4·0.225)/10 = 1.8/10; max
    0.75; l2² = (2·0.0025 + 3/3600 + 0.5625 + 4·0.050625)/10 = 0.0770833…; noise = [2·(1/4)/1 + 3·(2/9)/2 +
    0 + 4·(3/16)/3]/10 = (0.5 + 1/3 + 0.25)/10 = 0.1083… > l2², so debiased 0.
    """
    assert metrics.ece(P, EVENT, n_bins=10) == pytest.approx(0.18)
    assert metrics.mce(P, EVENT, n_bins=10) == pytest.approx(0.75)
    squared = (2 * 0.0025 + 3 / 3600 + 0.5625 + 4 * 0.050625) / 10
    assert metrics.ece(P, EVENT, n_bins=10, norm="l2") == pytest.approx(math.sqrt(squared))
    assert metrics.debiased_ece(P, EVENT, n_bins=10) == 0


def test_ten_points_equal_mass() -> None:
    """Three runs of 4, 3, 3 samples; the three at 0.65 share 2/3, the two at 0.95 are all right, at 1.0 half.

    Run 1: 0.55, 0.55, 0.65, 0.65: events 1 + 4/3, confidence 2.4: 1/15.  Run 2: 0.65, 0.75, 0.95: events
    2/3 + 1, confidence 2.35: 0.68333.  Run 3: 0.95, 1, 1: events 2, confidence 2.95: 0.95.  Sum 1.7/10.
    """
    assert metrics.aece(P, EVENT, n_bins=3) == pytest.approx((1 / 15 + 2.35 - 5 / 3 + 0.95) / 10)


def test_ten_points_scores() -> None:
    """Right with p: 0.55, 0.65, 0.65, 0.95, 0.95, 1; wrong: 0.55, 0.65, 0.75, 1. Brier Σ 2 (1 − p_y)²."""
    wrong = [0.55, 0.65, 0.75, 1.0]
    right = [0.45, 0.35, 0.35, 0.05, 0.05, 0.0]
    assert metrics.accuracy(P, EVENT) == 0.6
    assert metrics.brier(P, EVENT) == pytest.approx(2 * sum(x * x for x in wrong + right) / 10)
    tiny = torch.finfo(torch.float64).tiny
    logs = sum(math.log(1 - x) for x in right) + sum(math.log(max(1 - x, tiny)) for x in wrong)
    assert metrics.nll(P, EVENT) == pytest.approx(-logs / 10)


def test_classwise_by_hand() -> None:
    """Rows (0.25, 0.75) and (0.5, 0.5), targets 1 and 0, two bins of each class.

    Class 0: 0.25 in the first bin, never true: 0.25; 0.5 in the second, true: 0.5; mean gap (0.25 + 0.5)/2.
    Class 1: both in the second bin: confidence 1.25, true once: 0.25/2. Mean (0.375 + 0.125)/2 = 0.25.
    """
    p = torch.tensor([[0.25, 0.75], [0.5, 0.5]])
    assert metrics.classwise_ece(p, torch.tensor([1, 0]), n_bins=2) == pytest.approx(0.25)
    assert metrics.classwise_ece(p, torch.tensor([1, 0]), n_bins=2, binary="positive") == pytest.approx(0.125)


def test_regression_by_hand() -> None:
    """Variances 1, 1, 9 with errors 1, 3, 3; two bins [1, 5), [5, 9]: MSE 5 against 1, and 9 against 9.

    UCE = (2/3)·4; ENCE = (|√5 − 1| + 0)/2; inside ±1.96σ: 1 and 3 of σ 3, so 2/3. ±σ holds 0.683: from
    level 0.7 on an error of σ is inside, that is half of bin 1 and all of bin 2; below it none is.
    """
    mean, std = np.zeros(3), np.array([1.0, 1.0, 3.0])
    targets = np.array([1.0, -3.0, 3.0])
    assert metrics.uce(mean, std, targets, n_bins=2) == pytest.approx(8 / 3)
    assert metrics.ence(mean, std, targets, n_bins=2) == pytest.approx((math.sqrt(5) - 1) / 2)
    assert metrics.coverage(mean, std, targets) == pytest.approx(2 / 3)
    assert metrics.rmse(mean, targets) == pytest.approx(math.sqrt(19 / 3))
    wide = np.array([q >= 0.7 - 1e-9 for q in LEVELS])
    first, second = np.abs(0.5 * wide - LEVELS), np.abs(wide - LEVELS)
    assert metrics.qce(mean, std, targets, n_bins=2) == pytest.approx((2 * first + second).mean() / 3)


def test_bin_by_moves_a_sample() -> None:
    """σ = 2.1 lies above the middle of [1, 3], but σ² = 4.41 below the middle of [1, 9]."""
    mean, std, targets = np.zeros(3), np.array([1.0, 2.1, 3.0]), np.array([2.0, 2.1, 1.0])
    by_std = ((4 - 1) + abs(2.1**2 + 1 - 2.1**2 - 9)) / 3
    by_variance = (abs(4 + 2.1**2 - 1 - 2.1**2) + 8) / 3
    assert metrics.uce(mean, std, targets, n_bins=2, bin_by="std") == pytest.approx(by_std)
    assert metrics.uce(mean, std, targets, n_bins=2) == pytest.approx(by_variance)
    assert metrics.ence(mean, std, targets, n_bins=2) != metrics.ence(
        mean, std, targets, n_bins=2, bin_by="variance"
    )


def test_confidence_of_exactly_one_is_in_the_last_bin() -> None:
    """Nine right and one wrong at 1.0, one right at 0.95: one bin of 11 with gap |10 − 10.95|/11."""
    p = torch.tensor([[0.0, 1.0]] * 10 + [[0.05, 0.95]], dtype=torch.float64)
    y = torch.tensor([1] * 9 + [0, 1])
    assert metrics.ece(p, y) == pytest.approx(0.95 / 11)


@pytest.mark.parametrize(("value", "bin_"), [(0.0, 0), (0.1, 1), (0.7, 7), (0.3, 3), (1.0, 9), (0.999999, 9)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_edges_belong_to_the_upper_bin(value: float, bin_: int, dtype: torch.dtype) -> None:
    from tailormix.metrics.binning import bin_index

    assert int(bin_index(torch.tensor([value], dtype=dtype), 10)) == bin_


def test_saturated_softmax_stays_finite() -> None:
    logits = torch.tensor([[1e4, 0.0], [0.0, 1e4]])
    y = torch.tensor([1, 1])
    assert metrics.nll(logits, y, from_logits=True) == 5000
    assert metrics.ece(logits, y, from_logits=True) == 0.5
    assert math.isfinite(metrics.nll(logits.softmax(1), y))
    assert metrics.nll(logits.softmax(1)[1:], y[1:]) == 0


def test_one_class_one_sample_and_empty_bins() -> None:
    one = torch.ones(3, 1)
    found = metrics.summary(one, torch.zeros(3, dtype=torch.long))
    assert found == {name: float(name == "accuracy") for name in found}
    single = metrics.summary(torch.tensor([[0.25, 0.75]]), torch.tensor([0]))
    assert single["ece"] == single["aece"] == single["mce"] == single["debiased_ece"] == 0.75
    assert single["classwise_ece"] == 0.75
    assert metrics.uce(np.zeros(1), np.ones(1), np.ones(1)) == 0
    assert metrics.ence(np.zeros(1), np.ones(1), np.full(1, 3.0)) == 2


def test_tied_top_classes_count_the_first() -> None:
    p = torch.full((2, 4), 0.25)
    assert metrics.accuracy(p, torch.tensor([0, 3])) == 0.5


def test_mape_leaves_out_zero_targets() -> None:
    assert metrics.mape(np.array([1.0, 9.0]), np.array([2.0, 0.0])) == 50
    with pytest.raises(ValueError, match="other than 0"):
        metrics.mape(np.ones(2), np.zeros(2))


def test_the_area_below_risk_and_coverage_is_the_mean_of_running_error_rates() -> None:
    """From the surest on: right, wrong, right, wrong; running error rates 0, 1/2, 1/3, 1/2."""
    p = torch.tensor([[0.1, 0.9], [0.2, 0.8], [0.3, 0.7], [0.4, 0.6]])
    assert metrics.aurc(p, torch.tensor([1, 0, 1, 0])) == pytest.approx((0 + 1 / 2 + 1 / 3 + 1 / 2) / 4)


def test_equal_confidences_share_their_errors() -> None:
    """One of two errs: the first of them is wrong in half of all orders, so (1/2 + 1/2) / 2."""
    p = torch.tensor([[0.2, 0.8], [0.2, 0.8]])
    assert metrics.aurc(p, torch.tensor([1, 0])) == pytest.approx(0.5)


def test_the_gap_has_a_sign() -> None:
    p = torch.tensor([[0.2, 0.8], [0.3, 0.7]])
    assert metrics.gap(p, torch.tensor([1, 1])) == pytest.approx(-0.25)
    assert metrics.gap(p, torch.tensor([0, 0])) == pytest.approx(0.75)


def test_two_classes_in_one_column_have_the_certainty_of_the_likelier_one() -> None:
    column, event = torch.tensor([0.9, 0.2, 0.4, 0.7]), torch.tensor([1, 0, 1, 0])
    rows = torch.stack([1 - column, column], 1)
    assert metrics.aurc(column, event, binary="positive") == pytest.approx(metrics.aurc(rows, event))
