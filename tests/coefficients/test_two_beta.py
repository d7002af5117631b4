"""Two Betas: which pairs are near, and the laws of both kinds."""

from __future__ import annotations

import pytest
import torch
from scipy import stats
from tailormix.draws import Draws

from nets import batch, seeded
from tailormix import TwoBeta


def test_near_and_far_by_hand() -> None:
    """Points 0, 1, 3 with partners 1, 2, 0: squares 1, 4, 9, mean 14/3, d̄ = 3/14, 6/7, 27/14."""
    data = batch(torch.tensor([[0.0], [1.0], [3.0]]), [0, 1, 2])
    word = TwoBeta(5.0, 0.5, space="input").coefficients
    plan = word(data, torch.tensor([1, 2, 0]), Draws(torch.device("cpu"), seeded()))
    assert plan.tau.tolist() == [5.0, 5.0, 0.5]
    torch.testing.assert_close(plan.distance, torch.tensor([3 / 14, 6 / 7, 27 / 14]))


def test_pairs_of_average_distance_are_far() -> None:
    """Two points and their swap: both distances are the mean, d̄ = 1, which is not below 1."""
    data = batch(torch.tensor([[0.0], [2.0]]), [0, 1])
    plan = TwoBeta(space="input").coefficients(data, torch.tensor([1, 0]), Draws(torch.device("cpu")))
    assert plan.tau.tolist() == pytest.approx([0.1, 0.1])


def test_laws_of_both_kinds() -> None:
    """Each λ_i follows Beta(τ_i, τ_i): its own distribution function makes it uniform."""
    n = 4000
    plan = TwoBeta(5.0, 0.5, num_classes=2).plan(
        torch.zeros(n, 1),
        torch.zeros(n, dtype=torch.int64),
        embeddings=torch.randn(n, 3, generator=seeded()),
        generator=seeded(1),
    )
    for near, alpha in ((True, 5.0), (False, 0.5)):
        lam = plan.lam[(plan.distance < 1) == near]
        assert len(lam) > 1000
        assert stats.kstest(lam.numpy(), stats.beta(alpha, alpha).cdf).pvalue > 1e-3


def test_bad_settings() -> None:
    with pytest.raises(ValueError, match="alpha_near must be > 0, got 0"):
        TwoBeta(0)
    with pytest.raises(ValueError, match="alpha_far must be > 0, got -1"):
        TwoBeta(1, -1)
