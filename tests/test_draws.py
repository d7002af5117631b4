"""Randomness: laws, determinism, and whose state is touched."""

import math

import pytest
import torch
from scipy import stats

from tailormix.batch import Batch, Draws
from tailormix.pairs import RandomPairs

CPU = torch.device("cpu")
THREE = Batch(torch.rand(3, 1), torch.zeros(3))


def draws(seed: int = 0) -> Draws:
    return Draws(CPU, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("tau", [0.01, 0.1, 0.5, 1.0, 3.0, 50.0, 1e4])
def test_direct_beta_has_its_law(tau: float) -> None:
    """Near 1 floats are few and below 1e-37 none, so Kolmogorov-Smirnov looks at (1e-37, ½) alone."""
    lam = draws().beta(torch.full((20_000,), tau)).double().numpy()
    low, high = stats.beta.cdf(1e-37, tau, tau), 0.5
    lower = lam[(lam > 1e-37) & (lam < 0.5)]
    assert stats.kstest(lower, lambda x: (stats.beta.cdf(x, tau, tau) - low) / (high - low)).pvalue > 1e-3
    for threshold in (0.3, 0.5, 0.7, 0.99):
        expected = stats.beta.cdf(threshold, tau, tau)
        assert (lam <= threshold).mean() == pytest.approx(expected, abs=5 * math.sqrt(0.25 / 20_000))


@pytest.mark.parametrize("tau", [0.0, 1e-40, 1e-20, 1e-6])
def test_direct_beta_with_tiny_tau_is_a_coin(tau: float) -> None:
    lam = draws().beta(torch.full((10_000,), tau))
    assert bool(((lam < 1e-3) | (lam > 0.999)).double().mean() > 0.999)
    assert lam.double().mean().item() == pytest.approx(0.5, abs=0.025)


@pytest.mark.parametrize("tau", [1e12, 1e30, math.inf])
def test_direct_beta_with_huge_tau_is_a_half(tau: float) -> None:
    lam = draws().beta(torch.full((1000,), tau))
    torch.testing.assert_close(lam, torch.full((1000,), 0.5), rtol=0, atol=1e-5)


def test_direct_beta_takes_one_parameter_per_draw() -> None:
    lam = draws().beta(torch.tensor([1e-6, 1e8]).repeat(500))
    assert bool((lam[1::2] - 0.5).abs().max() < 1e-3)
    assert bool(((lam[::2] < 1e-3) | (lam[::2] > 0.999)).all())


def test_permutations_are_uniform() -> None:
    """Each of the 6 orders of 3 things: 6000 draws, chi-square with 5 degrees of freedom."""
    source = draws()
    orders = [tuple(RandomPairs()(THREE, source).tolist()) for _ in range(6000)]
    counts = [orders.count(order) for order in sorted(set(orders))]
    assert len(counts) == 6
    assert stats.chisquare(counts).pvalue > 1e-3


def test_indices_below() -> None:
    index = draws().below(7, 7000)
    counts = index.bincount(minlength=7).tolist()
    assert len(counts) == 7
    assert stats.chisquare(counts).pvalue > 1e-3
    assert {draws(seed).choice(3) for seed in range(30)} == {0, 1, 2}


def test_one_seed_one_result() -> None:
    for draw in (
        lambda d: d.uniform(5),
        lambda d: d.below(100, 9),
        lambda d: d.beta(torch.full((9,), 0.7)),
        lambda d: torch.tensor(d.choice(10**9)),
    ):
        assert torch.equal(draw(draws(4)), draw(draws(4)))
        assert not torch.equal(draw(draws(4)), draw(draws(5)))


def test_generator_leaves_the_global_state_alone() -> None:
    before = torch.random.get_rng_state()
    source = draws()
    source.uniform(3), source.below(5, 3), source.choice(5)
    source.beta(torch.ones(3))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_default_device_does_not_matter() -> None:
    expected = draws().uniform(3), draws().choice(10**9)
    with torch.device("meta"):
        assert torch.equal(draws().uniform(3), expected[0])
        assert draws().choice(10**9) == expected[1]
