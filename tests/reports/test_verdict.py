"""The verdict: by Wilson's interval, by what chance would give, and the same sentence everywhere."""

import numpy as np
import pytest
import torch
from scipy import stats

from support_calibration import gaussian, split
from tailormix.calibration.predictions import Predictions
from tailormix.reports import Settings, evaluate, evaluation_page, reliability_curve
from tailormix.reports.verdict import ON_AVERAGE, verdict_on_classes, verdict_on_spread, verdict_sentences

QUICK = Settings(resamples=0)


def judged(confidence: float, right: int, n: int) -> str:
    p, targets = np.tile([1 - confidence, confidence], (n, 1)), np.arange(n) < right
    return verdict_on_classes(reliability_curve(p, targets)).judgement


@pytest.mark.parametrize("n", [10, 200])
@pytest.mark.parametrize("right", [0.6, 1.0])
def test_a_confidence_inside_the_interval_of_the_accuracy_is_not_blamed(n: int, right: float) -> None:
    k = round(right * n)
    low, high = stats.binomtest(k, n).proportion_ci(0.95, "wilson")
    if low > 0.51:
        assert judged(low - 0.005, k, n) == "too modest"
    assert judged(max(low + 0.005, 0.505), k, n) == "well calibrated"
    if high < 0.99:
        assert judged(high + 0.005, k, n) == "too sure"


def test_calibrated_models_are_seldom_blamed() -> None:
    """100 models that are right as often as they say: about 5 in 100 are too sure, too modest or uneven."""
    random = torch.Generator().manual_seed(0)
    found = []
    for _ in range(100):
        p = 0.5 + torch.rand(500, generator=random, dtype=torch.float64) / 2
        right = torch.bernoulli(p, generator=random).long()
        found.append(verdict_on_classes(reliability_curve(torch.stack([1 - p, p], 1), right)).judgement)
    assert found.count("well calibrated") >= 88


def test_errors_that_cancel_are_not_well_calibrated() -> None:
    """Right in 90 % at confidence 60 % and in 60 % at confidence 90 %: fine on average only."""
    p = np.repeat([[0.4, 0.6], [0.1, 0.9]], 100, axis=0)
    right = np.r_[np.arange(100) < 90, np.arange(100) < 60]
    found = verdict_on_classes(reliability_curve(p, right))
    assert (found.judgement, found.observed, found.promised) == (ON_AVERAGE, 0.75, pytest.approx(0.75))


def test_a_small_gap_of_many_samples_is_told_with_more_digits() -> None:
    p, right = np.tile([0.0006, 0.9994], (100_000, 1)), np.arange(100_000) < 99_900
    found = verdict_on_classes(reliability_curve(p, right))
    assert str(found) == "Too sure: 99.90 % right, 99.94 % confident."


def test_two_classes_as_a_probability_have_words_of_their_own() -> None:
    found = verdict_on_classes(reliability_curve(np.full(100, 0.4), np.arange(100) < 20, binary="positive"))
    assert str(found) == "Probabilities too high: class 1 came in 20.0 %, predicted 40.0 %."


def test_a_regression_is_judged_by_its_intervals() -> None:
    mean, std, targets = gaussian(400, factor=1.5)
    found = verdict_on_spread(mean, std, targets)
    assert found.judgement == "too sure"
    assert found.observed == pytest.approx(np.mean(np.abs(targets - mean) <= stats.norm.ppf(0.975) * std))
    assert verdict_on_spread(mean, 1.5 * std, targets).judgement == "well calibrated"
    assert verdict_on_spread(mean, 9 * std, targets).judgement == "too modest"
    assert verdict_on_spread(mean, 0 * std, targets) is None


def test_page_and_json_have_the_sentences_of_both_stages() -> None:
    test, val = split("test", n=400, ids=range(400, 800), seed=1), split("val", n=400, ids=range(400))
    found = evaluate(test, val, settings=QUICK)
    before, after = verdict_sentences(found)
    assert before.startswith("Too sure: ")
    assert after.startswith("After temperature scaling, well calibrated, as far as 400 samples can tell: ")
    assert found.as_dict()["verdict"] == [before, after]
    page = evaluation_page(found)
    assert before in page
    assert after in page
    none = Predictions(mean=np.zeros(3), std=np.zeros(3), targets=np.ones(3))
    assert verdict_sentences(evaluate(none, settings=QUICK)) == []
