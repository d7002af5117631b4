"""Local Mixup: its three weightings by hand, and what happens to far pairs."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from nets import batch, plan, seeded
from tailormix import LocalMixup, Mixup
from tailormix.objectives import LocallyWeighted

# Real targets 0 and inputs as predictions make the loss of a sample the square of its mixed input.
X = torch.tensor([0.0, 3.0, 7.0])
ZEROS = torch.zeros(3)
MIX = plan([1, 2, 0], 0.5)


def loss(x: torch.Tensor = X, **settings: object) -> float:
    y = torch.zeros_like(x)
    return LocalMixup(**settings).loss(nn.Identity(), x, y, plan=MIX).item()


def test_exponential_by_hand() -> None:
    """Mixed inputs 1.5, 5, 3.5: losses 2.25, 25, 12.25. Distances 3, 4, 7, σ = 0.5.

    Weights e^-1.5, e^-2, e^-3.5, or 1, e^-½, e^-2 up to a factor: the loss is their weighted mean.
    """
    weights = [1, math.exp(-0.5), math.exp(-2)]
    expected = sum(w * value for w, value in zip(weights, (2.25, 25, 12.25), strict=True)) / sum(weights)
    assert loss(sigma=0.5) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("epsilon", "expected"), [(2.9, 0), (3, 2.25 / 3), (4, 27.25 / 3), (7, 39.5 / 3)])
def test_threshold_by_hand(epsilon: float, expected: float) -> None:
    """Distances 3, 4, 7 and losses 2.25, 25, 12.25: those within ε, divided by all n = 3."""
    assert loss(weighting="threshold", epsilon=epsilon) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("k", "expected"), [(1, 2.25 / 3), (2, 39.5 / 3)])
def test_nearest_by_hand(k: int, expected: float) -> None:
    """Partners 3 of 0, 7 of 3 and 0 of 7. The nearest of 0 is 3, of 3 is 0, of 7 is 3: k = 1 keeps one pair.

    With k = 2 every partner is among the two nearest.
    """
    assert loss(weighting="nearest", k=k) == pytest.approx(expected, rel=1e-6)


def test_a_sample_is_always_near_itself() -> None:
    component = LocallyWeighted("nearest", k=1)
    near = component.weights(batch(X[:, None], ZEROS), torch.tensor([0, 1, 2]))
    assert near.tolist() == [True, True, True]


def test_far_pairs_alone_still_have_a_mean() -> None:
    """σ · distance beyond 10⁴: every weight would be 0, and the loss 0/0."""
    assert loss(x=X * 1e7, sigma=1.0) == pytest.approx((1.5e7) ** 2, rel=1e-5)
    together = LocallyWeighted(sigma=1.0).weights(batch(X[:, None] * 1e7, ZEROS), MIX.partner)
    assert together.tolist() == [1.0, 0.0, 0.0]


def test_without_decay_it_is_mixup() -> None:
    x, y = torch.randn(8, 3, generator=seeded()), torch.randn(8, 3, generator=seeded(1))
    for settings in (
        {"sigma": 0.0},
        {"weighting": "threshold", "epsilon": 1e9},
        {"weighting": "nearest", "k": 8},
    ):
        local = LocalMixup(**settings).loss(nn.Identity(), x, y, generator=seeded(2))
        torch.testing.assert_close(local, Mixup().loss(nn.Identity(), x, y, generator=seeded(2)))


def test_sample_weights_multiply_the_local_ones() -> None:
    """Sample weights 1, 0, 1 mixed half and half: ½, ½, 1. Threshold 4: (½·2.25 + ½·25)/(½ + ½ + 1)."""
    method, weight = LocalMixup(weighting="threshold", epsilon=4), torch.tensor([1.0, 0.0, 1.0])
    found = method.loss(nn.Identity(), X, ZEROS, weight=weight, plan=MIX)
    assert found.item() == pytest.approx(27.25 / 4)


def test_errors() -> None:
    with pytest.raises(ValueError, match="Local Mixup needs a criterion that returns one loss per sample"):
        LocalMixup().loss(nn.Identity(), X, ZEROS, nn.MSELoss())
    with pytest.raises(ValueError, match="did you mean 'threshold'"):
        LocalMixup(weighting="treshold")
    with pytest.raises(ValueError, match="sigma must be >= 0"):
        LocalMixup(sigma=-1)
    with pytest.raises(ValueError, match="k must be >= 1"):
        LocalMixup(k=0)
