"""What must hold for any predictions."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from support_metrics import classifier, regressor
from tailormix import metrics
from tailormix.metrics.registry import metric_function, names_of

CLASSIFICATION, REGRESSION = names_of("classification"), names_of("regression")


@st.composite
def predictions(draw: st.DrawFn) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits on a coarse grid, so that ties and saturation happen, with targets."""
    n, classes = draw(st.integers(1, 40)), draw(st.integers(1, 6))
    grid = hnp.arrays(np.float64, (n, classes), elements=st.sampled_from([-50.0, -1.0, 0.0, 0.5, 1.0, 40.0]))
    targets = hnp.arrays(np.int64, n, elements=st.integers(0, classes - 1))
    return torch.from_numpy(draw(grid)), torch.from_numpy(draw(targets))


@given(predictions(), st.integers(1, 20), st.randoms(use_true_random=False))
def test_order_of_the_samples_does_not_matter(
    case: tuple[torch.Tensor, torch.Tensor], n_bins: int, random
) -> None:
    logits, targets = case
    order = list(range(len(targets)))
    random.shuffle(order)
    before = metrics.summary(logits, targets, from_logits=True, n_bins=n_bins)
    after = metrics.summary(logits[order], targets[order], from_logits=True, n_bins=n_bins)
    assert before == pytest.approx(after, abs=1e-9)


@given(predictions())
def test_ranges_and_the_order_of_the_norms(case: tuple[torch.Tensor, torch.Tensor]) -> None:
    found = metrics.summary(*case, from_logits=True)
    low = {name: metrics.METRICS[name].bounds[0] for name in found}
    assert all(np.isfinite(value) and value >= low[name] for name, value in found.items())
    assert all(found[name] <= 1 + 1e-12 for name in found if name not in ("nll", "brier"))
    assert found["brier"] <= 2
    l2 = metrics.ece(*case, from_logits=True, norm="l2")
    assert found["ece"] <= l2 + 1e-9
    assert l2 <= found["mce"] + 1e-9
    assert found["debiased_ece"] <= l2 + 1e-12


@given(predictions())
def test_summary_is_each_function(case: tuple[torch.Tensor, torch.Tensor]) -> None:
    found = metrics.summary(*case, from_logits=True)
    assert found == {name: metric_function(name)(*case, from_logits=True) for name in CLASSIFICATION}


def test_regression_summary_is_each_function() -> None:
    mean, std, targets = regressor()
    found = metrics.regression_summary(mean, std, targets)
    assert tuple(found) == REGRESSION
    assert found["ence"] == metrics.ence(mean, std, targets)
    assert found["uce_as_published"] == metrics.uce_as_published(mean, std, targets)


def test_a_calibrated_sampler_has_vanishing_error() -> None:
    """ECE shrinks like 1/√n when targets are drawn from the predicted probabilities."""
    errors = []
    for n in (500, 8000, 128_000):
        random = torch.Generator().manual_seed(1)
        logits = torch.randn(n, 4, generator=random) * 2
        targets = torch.multinomial(logits.softmax(1), 1, generator=random)[:, 0]
        errors.append(metrics.ece(logits, targets, from_logits=True))
    assert errors[0] > 2 * errors[1] > 4 * errors[2]
    assert errors[2] < 0.005
    assert metrics.debiased_ece(logits, targets, from_logits=True) < 0.005


@pytest.mark.parametrize("name", CLASSIFICATION)
def test_numpy_torch_and_reduced_precision(name: str) -> None:
    logits, targets = classifier(200)
    function = metric_function(name)
    exact = function(logits, targets, from_logits=True)
    assert isinstance(exact, float)
    assert function(logits.numpy(), targets.numpy(), from_logits=True) == exact
    assert function(logits.numpy().astype(">f8"), targets.numpy().astype(np.uint8), from_logits=True) == exact
    for dtype in (torch.float16, torch.bfloat16):
        short = logits.to(dtype)
        assert function(short, targets, from_logits=True) == function(
            short.float(), targets, from_logits=True
        )
        p = logits.softmax(1).to(dtype)
        assert function(p, targets) == pytest.approx(exact, abs=0.1)


@pytest.mark.parametrize("name", REGRESSION)
def test_half_precision_regression(name: str) -> None:
    mean, std, targets = regressor(100)
    info = metrics.METRICS[name]
    arrays = [{"mean": mean, "std": std, "targets": targets}[key].bfloat16() for key in info.arrays]
    wide = metric_function(name)(*(array.double() for array in arrays))
    assert metric_function(name)(*arrays) == wide


def test_chunks_do_not_change_the_value(monkeypatch: pytest.MonkeyPatch) -> None:
    from tailormix.metrics import inputs

    logits, targets = classifier(333)
    whole = metrics.summary(logits, targets, from_logits=True)
    monkeypatch.setattr(inputs, "CHUNK_VALUES", 50)
    assert metrics.summary(logits, targets, from_logits=True) == pytest.approx(whole, rel=1e-12)


def test_read_only_and_strided_arrays(tmp_path) -> None:
    logits, targets = classifier(100)
    np.save(tmp_path / "z.npy", logits.numpy())
    mapped = np.load(tmp_path / "z.npy", mmap_mode="r")
    expected = metrics.ece(logits.flip(0), targets.flip(0), from_logits=True)
    assert metrics.ece(mapped[::-1], targets.numpy()[::-1], from_logits=True) == expected
    wide = torch.randn(100, 14, dtype=torch.float64)
    wide[:, ::2] = logits
    assert metrics.summary(wide[:, ::2], targets, from_logits=True) == metrics.summary(
        logits, targets, from_logits=True
    )


@given(predictions())
def test_risk_and_coverage_is_the_mean_over_all_orders_of_equal_confidences(
    case: tuple[torch.Tensor, torch.Tensor],
) -> None:
    """A slow reference: running error rates over many random orders that respect the confidence."""
    confidence, label = case[0].softmax(1).max(1)
    errors = (label != case[1]).double().numpy()
    random, areas = np.random.default_rng(0), []
    for _ in range(200):
        order = np.lexsort((random.random(len(errors)), -confidence.numpy()))
        areas.append(np.mean(np.cumsum(errors[order]) / np.arange(1, len(errors) + 1)))
    found = metrics.aurc(*case, from_logits=True)
    assert abs(found - np.mean(areas)) <= 4 * np.std(areas) / np.sqrt(200) + 1e-9
