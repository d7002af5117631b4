"""Temperature scaling: the minimum, its error, its guards, and the logits that break others."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from sklearn.metrics import log_loss

from support_calibration import distorted
from tailormix import metrics
from tailormix.calibration import TemperatureScaling
from tailormix.calibration.temperature import PRIOR, nll_in_log_temperature
from tailormix.metrics.inputs import classification_inputs


def nll(logits: torch.Tensor, targets: torch.Tensor) -> float:
    return metrics.nll(logits.double(), targets, from_logits=True)


def textbook() -> TemperatureScaling:
    return TemperatureScaling(prior=None)


def random_rows(seed: int, n: int, classes: int, scale: float) -> tuple[torch.Tensor, torch.Tensor]:
    random = torch.Generator().manual_seed(seed)
    logits = scale * torch.randn(n, classes, generator=random)
    return logits, torch.randint(0, classes, (n,), generator=random)


@pytest.mark.parametrize("truth", [0.3, 1.0, 2.0, 5.0])
def test_recovers_a_known_distortion_within_its_standard_error(truth: float) -> None:
    """Over 20 draws (T − truth)/error has mean near 0 and variance near 1."""
    scores = []
    for seed in range(20):
        scaler = textbook().fit(*distorted(1500, temperature=truth, seed=seed))
        scores.append((scaler.temperature - truth) / scaler.fitted.standard_error)
    assert abs(np.mean(scores)) < 3 / math.sqrt(20)
    assert 0.4 < np.std(scores) < 1.7


def test_is_the_minimum_that_scipy_finds() -> None:
    logits, targets = distorted(900)
    scaler = textbook().fit(logits, targets)
    peer = minimize_scalar(
        lambda t: nll(logits.double() / math.exp(t), targets), bounds=(-3, 3), options={"xatol": 1e-9}
    )
    assert scaler.temperature == pytest.approx(math.exp(peer.x), rel=1e-5)
    assert scaler.converged
    assert scaler.fitted.nll_after == pytest.approx(peer.fun, rel=1e-6)
    assert scaler.fitted.nll_before == pytest.approx(nll(logits, targets), rel=1e-6)


def test_derivatives_agree_with_autograd() -> None:
    logits, targets = distorted(50)
    t = torch.tensor(0.4, dtype=torch.float64, requires_grad=True)
    loss = torch.nn.functional.cross_entropy(logits.double() / t.exp(), targets)
    (first,) = torch.autograd.grad(loss, t, create_graph=True)
    (second,) = torch.autograd.grad(first, t)
    found = nll_in_log_temperature(classification_inputs(logits, targets, from_logits=True), 0.4)
    assert found == pytest.approx((loss.item(), first.item(), second.item()))


@pytest.mark.parametrize("factor", [1e-30, 1e-6, 1.0, 1e6, 1e30, 1e37])
def test_scale_of_the_logits_is_no_matter(factor: float) -> None:
    logits, targets = distorted(600)
    plain = textbook().fit(logits, targets).temperature
    scaler = textbook().fit(logits * factor, targets)
    assert scaler.temperature == pytest.approx(plain * factor, rel=1e-3)
    assert scaler.converged


def test_largest_floats_and_constant_logits() -> None:
    """Constant logits keep T = 1 and say flat."""
    logits = torch.tensor([[3e38, -3e38]]).repeat(3, 1)
    scaler = textbook().fit(logits, torch.tensor([0, 0, 1]))
    assert scaler.temperature == pytest.approx(6e38 / math.log(2), rel=1e-3)
    for value in (0.0, 7.0, 1e30):
        scaler = TemperatureScaling().fit(torch.full((5, 3), value), torch.tensor([0, 1, 2, 0, 0]))
        assert (scaler.temperature, scaler.fitted.status) == (1.0, "flat")
        assert scaler.fitted.nll_after == pytest.approx(math.log(3))
    assert TemperatureScaling().fit(torch.zeros(2, 1), torch.tensor([0, 0])).temperature == 1


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e5])
def test_separable_logits_stay_bounded_and_say_so(scale: float) -> None:
    logits = torch.eye(4).repeat(5, 1) * scale
    scaler = textbook().fit(logits, logits.argmax(1))
    assert scaler.fitted.status in ("at lower bound", "not better than T = 1")
    assert 0 < scaler.temperature <= max(1, scale)
    assert scaler.fitted.nll_after <= scaler.fitted.nll_before
    assert scaler.fitted.nll_after < 1e-6
    assert "T → 0" in scaler.fitted.note or scaler.temperature == 1


def test_always_wrong_logits_stay_positive_and_say_so() -> None:
    """The best T would be negative: T stops at its upper bound, where all classes are nearly equal."""
    logits = torch.eye(3).repeat(4, 1) * 5
    scaler = textbook().fit(logits, (logits.argmax(1) + 1) % 3)
    assert scaler.fitted.status == "at upper bound"
    assert "T → ∞" in scaler.fitted.note
    assert not scaler.converged
    assert 100 < scaler.temperature < math.inf
    assert scaler.fitted.nll_after == pytest.approx(math.log(3), abs=1e-2)


@pytest.mark.parametrize(
    ("rows", "answer", "status"),
    [
        (3, lambda z: z.argmax(1), "kept from 0 by the prior"),
        (200, lambda z: z.argmax(1), "kept from 0 by the prior"),
        (40, lambda z: z.argmin(1), "kept from infinity by the prior"),
        (5, lambda z: torch.arange(len(z)) % 3, "converged"),
        (300, lambda z: torch.where(torch.arange(300) % 4 == 0, z.argmin(1), z.argmax(1)), "converged"),
    ],
)
def test_temperature_is_the_mode_under_the_prior(
    rows: int, answer: Callable[[torch.Tensor], torch.Tensor], status: str
) -> None:
    """Against scipy's search over scikit-learn's log loss, where all rows are right, all wrong, and mixed."""
    logits = torch.tensor(np.random.default_rng(1).normal(size=(rows, 3)) * 2)
    targets = answer(logits)

    def objective(t: float) -> float:
        p = torch.softmax(logits / math.exp(t), 1).numpy()
        return rows * log_loss(targets.numpy(), p, labels=[0, 1, 2]) + t * t / (2 * PRIOR**2)

    peer = minimize_scalar(objective, bounds=(-4, 4), method="bounded", options={"xatol": 1e-9})
    scaler = TemperatureScaling().fit(logits, targets)
    assert scaler.temperature == pytest.approx(math.exp(peer.x), rel=1e-5)
    assert scaler.fitted.status == status
    assert scaler.converged


def test_a_validation_split_without_errors_does_not_ruin_new_rows() -> None:
    """Calibrated logits, 180 rows that happen to be all right: NLL of 360 others, after over before."""
    ratios: dict[float | None, list[float]] = {None: [], PRIOR: []}
    for seed in range(60):
        random = torch.Generator().manual_seed(seed)
        top = torch.randint(0, 10, (540,), generator=random)
        logits = torch.randn(540, 10, generator=random).scatter_add(
            1, top[:, None], 6 + 6 * torch.rand(540, 1, generator=random)
        )
        targets = torch.multinomial(logits.softmax(1), 1, generator=random)[:, 0]
        if not torch.equal(logits[:180].argmax(1), targets[:180]):
            continue
        for prior, found in ratios.items():
            scaler = TemperatureScaling(prior=prior).fit(logits[:180], targets[:180])
            after = nll(scaler.transform(logits[180:]), targets[180:])
            found.append(after / nll(logits[180:], targets[180:]))
    assert len(ratios[PRIOR]) > 5
    assert np.mean(ratios[None]) > 30
    assert np.mean(ratios[PRIOR]) < 1.1
    assert np.max(ratios[PRIOR]) < 1.25


def test_a_fit_that_rests_on_the_prior_says_so_in_one_sentence() -> None:
    right = torch.eye(3).repeat(60, 1) * 4
    fitted = TemperatureScaling().fit(right, right.argmax(1)).fitted
    assert fitted.note == (
        f"T = {fitted.temperature:.3g} rests on the prior around 1: the NLL alone falls for ever as T → 0, "
        "as it does where all rows are classified right."
    )
    assert TemperatureScaling().fit(*distorted(300)).fitted.note == ""


@pytest.mark.parametrize("truth", [0.5, 0.8, 1.5, 2.0, 3.0])
def test_prior_moves_the_temperature_of_ten_thousand_rows_by_less_than_half_a_percent(truth: float) -> None:
    rows = distorted(10_000, classes=10, temperature=truth)
    plain, prior = (scaler.fit(*rows).temperature for scaler in (textbook(), TemperatureScaling()))
    assert plain == pytest.approx(truth, rel=0.05)
    assert 0 < abs(prior / plain - 1) < 0.005


def test_of_two_minima_under_the_prior_the_lower_one_is_found() -> None:
    """Tiny logits of many rows: one minimum next to 1, and the lower one next to the textbook's 1e-4."""
    logits, targets = distorted(3000)
    logits, t = logits * 5e-5, np.linspace(-12, 1, 1301)
    values = [3000 * nll(logits.double() / math.exp(each), targets) + each**2 / (2 * PRIOR**2) for each in t]
    minima = [i for i in range(1, 1300) if values[i] < min(values[i - 1], values[i + 1])]
    assert len(minima) == 2
    best = t[int(np.argmin(values))]
    assert math.log(TemperatureScaling().fit(logits, targets).temperature) == pytest.approx(best, abs=0.01)


@given(
    st.integers(0, 10_000),
    st.integers(1, 40),
    st.integers(2, 5),
    st.sampled_from([1e-8, 0.01, 1.0, 10.0, 1e4, 1e20]),
    st.sampled_from([0.01, 0.3, 2.0]),
)
def test_prior_draws_the_textbook_temperature_towards_one(
    seed: int, n: int, classes: int, scale: float, prior: float
) -> None:
    """T lies between 1 and the textbook T, and nearer to 1 the narrower the prior."""
    rows = random_rows(seed, n, classes, scale)
    plain = textbook().fit(*rows).temperature
    narrow, wide = (TemperatureScaling(prior=p).fit(*rows).temperature for p in (prior, 2 * prior))
    slack = 1 + 1e-6
    assert min(1, plain) / slack <= narrow <= max(1, plain) * slack
    assert abs(math.log(narrow)) <= abs(math.log(wide)) + 1e-6


def test_prior_must_be_positive() -> None:
    with pytest.raises(ValueError, match="prior must be > 0"):
        TemperatureScaling(prior=-1)


@given(
    st.integers(0, 10_000),
    st.integers(1, 30),
    st.integers(1, 5),
    st.sampled_from([0.0, 1e-8, 1.0, 50.0, 1e4, 1e20]),
    st.sampled_from([None, PRIOR]),
)
def test_never_worse_than_one_and_always_positive(
    seed: int, n: int, classes: int, scale: float, prior: float | None
) -> None:
    logits, targets = random_rows(seed, n, classes, scale)
    scaler = TemperatureScaling(prior=prior).fit(logits, targets)
    assert 0 < scaler.temperature < math.inf
    before, after = nll(logits, targets), nll(logits.double() / scaler.temperature, targets)
    assert after <= before * (1 + 1e-6) + 1e-9
    assert scaler.fitted.nll_after <= scaler.fitted.nll_before


def test_types_in_and_out() -> None:
    logits, targets = distorted(200)
    scaler = TemperatureScaling().fit(logits.numpy(), targets.numpy())
    assert isinstance(scaler.temperature, float)
    assert isinstance(scaler.transform(logits.numpy()), np.ndarray)
    assert torch.equal(scaler.transform(logits), logits / scaler.temperature)
    half = TemperatureScaling().fit(logits.bfloat16(), targets)
    assert half.temperature == pytest.approx(scaler.temperature, rel=0.02)


def test_bad_use() -> None:
    logits, targets = distorted(10)
    with pytest.raises(RuntimeError, match="TemperatureScaling is not fitted"):
        TemperatureScaling().transform(logits)
    with pytest.raises(TypeError, match="targets must be given"):
        TemperatureScaling().fit(logits)
    for bad in (float("nan"), float("inf")):
        broken = logits.clone()
        broken[3, 1] = bad
        with pytest.raises(ValueError, match="logits must be finite"):
            TemperatureScaling().fit(broken, targets)
