"""Bootstrap intervals and the paired test."""

import numpy as np
import pytest
import torch

from support_metrics import classifier, regressor
from tailormix import metrics
from tailormix.metrics import bootstrap
from tailormix.metrics.bootstrap import classification_sums, interval_from, regression_sums
from tailormix.metrics.classification import sample_statistics
from tailormix.metrics.inputs import classification_inputs, regression_inputs
from tailormix.metrics.registry import METRICS, metric_function


def case(name: str, n: int = 80) -> tuple[tuple[torch.Tensor, ...], dict[str, object]]:
    if METRICS[name].task == "classification":
        logits, targets = classifier(n)
        return ((logits * 2).round() / 2, targets), {"from_logits": True}  # rounding makes ties
    data = dict(zip(("mean", "std", "targets"), regressor(n, outputs=2), strict=True))
    return tuple(data[key] for key in METRICS[name].arrays), {}


@pytest.mark.parametrize("name", METRICS)
def test_resampled_sums_are_those_of_resampled_rows(name: str) -> None:
    """The value of sums over rows that are drawn w times equals the function on rows repeated w times."""
    arrays, options = case(name, 75)
    if METRICS[name].task == "classification":
        inputs = classification_inputs(*arrays, **options)
        metric = classification_sums(inputs, sample_statistics(inputs))[name]
    else:
        metric = regression_sums(regression_inputs(arrays[0], arrays[-1], *arrays[1:-1]))[name]
    whole = metric.value(metric.sums(torch.arange(75)))
    assert float(whole) == pytest.approx(metric_function(name)(*arrays, **options), rel=1e-10)
    draw = torch.cat([torch.arange(75), torch.randint(75, (40,), generator=torch.Generator().manual_seed(1))])
    if name == "aece":
        draw = torch.arange(75).repeat(2)  # edges stay put only where every row is drawn equally often
    value = metric.value(sum(metric.sums(rows) for rows in draw.split(7)))
    expected = metric_function(name)(*(array[draw] for array in arrays), **options)
    assert float(value) == pytest.approx(expected, rel=1e-9)


def test_interval_of_a_mean_agrees_with_scipy() -> None:
    from scipy import stats

    p = torch.rand(300, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    logits, y = torch.stack([1 - p, p], 1).log(), torch.zeros(300, dtype=torch.long)
    peer = stats.bootstrap(((2 * p**2).numpy(),), np.mean, n_resamples=4000, method="basic", rng=0)
    for metric in ("brier", metrics.brier):
        ours = metrics.interval(metric, logits, y, resamples=4000, from_logits=True)
        assert (ours.low, ours.high) == pytest.approx(tuple(peer.confidence_interval), abs=0.005)


def test_intervals_cover_the_truth() -> None:
    """Targets follow the predictions: the true accuracy, the mean confidence, is covered 95 times in 100."""
    inside = 0
    random = torch.Generator().manual_seed(0)
    logits = 2 * torch.randn(400, 3, generator=random)
    truth = float(logits.softmax(1).amax(1).mean())
    for seed in range(100):
        targets = torch.multinomial(logits.softmax(1), 1, generator=random)[:, 0]
        found = metrics.interval("accuracy", logits, targets, from_logits=True, resamples=200, seed=seed)
        inside += found.low <= truth <= found.high
    assert 88 <= inside <= 100


def test_interval_is_repeatable_and_widens_with_confidence() -> None:
    arrays = classifier(100)
    narrow, again, wide = (
        metrics.interval("aece", *arrays, from_logits=True, resamples=300, confidence=level, seed=3)
        for level in (0.5, 0.5, 0.99)
    )
    assert narrow == again
    assert wide.low < narrow.low < narrow.high < wide.high


def test_bounds_and_methods() -> None:
    drawn = torch.linspace(0.1, 0.5, 101)
    basic = interval_from(0.1, drawn, bounds=(0, 1))
    assert (basic.low, basic.high) == pytest.approx((0.0, 0.1))
    percentile = interval_from(0.1, drawn, method="percentile")
    assert (percentile.low, percentile.high) == pytest.approx((0.11, 0.49))
    with pytest.raises(ValueError, match="confidence must lie in"):
        interval_from(0.1, drawn, confidence=2)
    with pytest.raises(ValueError, match="unknown method"):
        interval_from(0.1, drawn, method="magic")


@pytest.mark.parametrize("name", METRICS)
def test_groups_of_rows_give_the_interval_of_single_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """1200 rows one by one, and in 400 groups."""
    arrays, options = case(name, 1200)
    monkeypatch.setattr(bootstrap, "MOST_GROUPS", 1200)
    single = metrics.interval(name, *arrays, resamples=400, **options)
    monkeypatch.setattr(bootstrap, "MOST_GROUPS", 400)
    grouped = metrics.interval(name, *arrays, resamples=400, **options)
    assert grouped.value == single.value
    assert grouped.high - grouped.low == pytest.approx(single.high - single.low, rel=0.3)
    assert grouped.high == pytest.approx(single.high, abs=(single.high - single.low) / 3)


def test_wide_sums_are_grouped_to_bound_the_memory() -> None:
    logits, targets = classifier(1500, classes=500)
    found = metrics.interval("classwise_ece", logits, targets, from_logits=True, resamples=50)
    assert found.low <= found.value <= found.high


@pytest.mark.parametrize("name", METRICS)
def test_a_model_does_not_differ_from_itself(name: str) -> None:
    (*ours, targets), options = case(name, 60)
    found = metrics.paired_test(name, tuple(ours), tuple(ours), targets, resamples=50, **options)
    assert (found.difference.value, found.difference.low, found.difference.high) == (0, 0, 0)
    assert found.p_value == 1


def test_paired_test_finds_a_real_difference_and_agrees_with_scipy() -> None:
    """On top-1 accuracy the test is scipy's permutation test of paired samples."""
    from scipy import stats

    logits, targets = classifier(120)
    noisy = logits + 3 * torch.randn(logits.shape, generator=torch.Generator().manual_seed(5))
    found = metrics.paired_test("accuracy", logits, noisy, targets, from_logits=True, resamples=2000)
    hits = [(one.argmax(1) == targets).double().numpy() for one in (logits, noisy)]
    peer = stats.permutation_test(
        hits, lambda a, b, axis: (a - b).mean(axis), permutation_type="samples", n_resamples=2000, rng=0
    )
    assert found.difference.value == pytest.approx(hits[0].mean() - hits[1].mean())
    assert found.p_value == pytest.approx(peer.pvalue, abs=0.01)
    assert found.difference.low > 0


def test_swap_test_is_uniform_under_the_null() -> None:
    """Two exchangeable noisy copies of a model: p below 0.1 in about a tenth of the cases."""
    small = 0
    for seed in range(60):
        logits, targets = classifier(80, seed=seed)
        noise = torch.randn(2, *logits.shape, generator=torch.Generator().manual_seed(seed))
        found = metrics.paired_test(
            "ece", logits + noise[0], logits + noise[1], targets, from_logits=True, resamples=99
        )
        small += found.p_value <= 0.1
    assert small <= 14


def test_bad_use() -> None:
    logits, targets = classifier(20)
    with pytest.raises(ValueError, match="unknown metric 'ecee'; did you mean 'ece'"):
        metrics.interval("ecee", logits, targets)
    with pytest.raises(ValueError, match="expected 20 rows"):
        metrics.paired_test("ece", logits, logits[:5], targets)
    with pytest.raises(ValueError, match="resamples must be >= 1"):
        metrics.interval("ece", logits, targets, from_logits=True, resamples=0)
