"""Temperature scaling: the minimum, its error, its guards, and the logits that break others."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from support_calibration import distorted
from tailormix import metrics
from tailormix.calibration import TemperatureScaling
from tailormix.calibration.temperature import nll_in_log_temperature
from tailormix.metrics.inputs import classification_inputs


def nll(logits: torch.Tensor, targets: torch.Tensor) -> float:
    return metrics.nll(logits.double(), targets, from_logits=True)


@pytest.mark.parametrize("truth", [0.3, 1.0, 2.0, 5.0])
def test_recovers_a_known_distortion_within_its_standard_error(truth: float) -> None:
    """Over 20 draws (T − truth)/error has mean near 0 and variance near 1."""
    scores = []
    for seed in range(20):
        scaler = TemperatureScaling().fit(*distorted(1500, temperature=truth, seed=seed))
        scores.append((scaler.temperature - truth) / scaler.fitted.standard_error)
    assert abs(np.mean(scores)) < 3 / math.sqrt(20)
    assert 0.4 < np.std(scores) < 1.7


def test_is_the_minimum_that_scipy_finds() -> None:
    logits, targets = distorted(900)
    scaler = TemperatureScaling().fit(logits, targets)
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
    plain = TemperatureScaling().fit(logits, targets).temperature
    scaler = TemperatureScaling().fit(logits * factor, targets)
    assert scaler.temperature == pytest.approx(plain * factor, rel=1e-3)
    assert scaler.converged


def test_largest_floats_and_constant_logits() -> None:
    """Constant logits keep T = 1 and say flat."""
    logits = torch.tensor([[3e38, -3e38]]).repeat(3, 1)
    scaler = TemperatureScaling().fit(logits, torch.tensor([0, 0, 1]))
    assert scaler.temperature == pytest.approx(6e38 / math.log(2), rel=1e-3)
    for value in (0.0, 7.0, 1e30):
        scaler = TemperatureScaling().fit(torch.full((5, 3), value), torch.tensor([0, 1, 2, 0, 0]))
        assert (scaler.temperature, scaler.fitted.status) == (1.0, "flat")
        assert scaler.fitted.nll_after == pytest.approx(math.log(3))
    assert TemperatureScaling().fit(torch.zeros(2, 1), torch.tensor([0, 0])).temperature == 1


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e5])
def test_separable_logits_stay_bounded_and_say_so(scale: float) -> None:
    logits = torch.eye(4).repeat(5, 1) * scale
    scaler = TemperatureScaling().fit(logits, logits.argmax(1))
    assert scaler.fitted.status in ("at lower bound", "not better than T = 1")
    assert 0 < scaler.temperature <= max(1, scale)
    assert scaler.fitted.nll_after <= scaler.fitted.nll_before
    assert scaler.fitted.nll_after < 1e-6


def test_always_wrong_logits_stay_positive_and_say_so() -> None:
    """The best T would be negative: T stops at its upper bound, where all classes are nearly equal."""
    logits = torch.eye(3).repeat(4, 1) * 5
    scaler = TemperatureScaling().fit(logits, (logits.argmax(1) + 1) % 3)
    assert scaler.fitted.status == "at upper bound"
    assert not scaler.converged
    assert 100 < scaler.temperature < math.inf
    assert scaler.fitted.nll_after == pytest.approx(math.log(3), abs=1e-2)


def test_prior_keeps_the_temperature_of_few_rows_near_one() -> None:
    """All right with a margin of 2: without the prior T falls to its bound, with it T is 0.77."""
    few = torch.tensor([[2.0, 0.0]]).repeat(3, 1), torch.zeros(3, dtype=torch.long)
    assert TemperatureScaling().fit(*few).fitted.status == "at lower bound"
    scaler = TemperatureScaling(prior=0.7).fit(*few)
    peer = minimize_scalar(
        lambda t: 3 * nll(few[0].double() / math.exp(t), few[1]) + t * t / (2 * 0.7**2), bounds=(-3, 3)
    )
    assert scaler.temperature == pytest.approx(math.exp(peer.x), rel=1e-5)
    assert scaler.converged


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_prior_hardly_matters_where_rows_are_many(scale: float) -> None:
    logits, targets = distorted(20_000)
    plain, prior = (TemperatureScaling(prior=prior).fit(logits * scale, targets) for prior in (None, 1.0))
    assert prior.temperature == pytest.approx(plain.temperature, rel=0.02)
    with pytest.raises(ValueError, match="prior must be > 0"):
        TemperatureScaling(prior=-1)


@given(
    st.integers(0, 10_000),
    st.integers(1, 30),
    st.integers(1, 5),
    st.sampled_from([0.0, 1e-8, 1.0, 50.0, 1e4, 1e20]),
)
def test_never_worse_than_one_and_always_positive(seed: int, n: int, classes: int, scale: float) -> None:
    random = torch.Generator().manual_seed(seed)
    logits = scale * torch.randn(n, classes, generator=random)
    targets = torch.randint(0, classes, (n,), generator=random)
    scaler = TemperatureScaling().fit(logits, targets)
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
