"""Pairs of coefficients a margin apart (MIT): their law against drawing again, and infeasible settings."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats
from tailormix.draws import Draws

from nets import seeded
from tailormix import MITA, MITL
from tailormix.coefficients import SeparatedBetas, feasible_share


def rejected(alpha: float, margin: float, rng: np.random.Generator, size: int) -> tuple[np.ndarray, float]:
    """(λ₁, λ₂) by drawing both again until the margin holds, and the share of draws that held it."""
    b = rng.beta(alpha, alpha, (2, size))
    first, second = np.maximum(b[0], 1 - b[0]), np.minimum(b[1], 1 - b[1])
    kept = first - second >= margin
    return np.stack((first[kept], second[kept])), kept.mean()


@pytest.mark.parametrize(("alpha", "margin"), [(1.0, 0.5), (0.1, 0.5), (2.0, 0.3), (1.0, 0.05), (1.0, 0.9)])
def test_law_equals_drawing_again(alpha: float, margin: float) -> None:
    draws = Draws(torch.device("cpu"), seeded(1))
    word = SeparatedBetas(alpha, margin)
    ours = torch.cat([word.pairs(draws, 10) for _ in range(100)], dim=1).double().numpy()
    theirs, _ = rejected(alpha, margin, np.random.default_rng(2), 400_000)
    assert (ours[0] - ours[1] >= margin - 1e-6).all()
    assert (ours[0] >= 0.5).all()
    assert (ours[1] <= 0.5).all()
    ours, theirs = ours.round(6), theirs.round(6)  # in float32, 1 - b has no digits left below 1e-7
    for mine, other in zip((*ours, ours[0] - ours[1]), (*theirs, theirs[0] - theirs[1]), strict=True):
        assert stats.ks_2samp(mine, other).pvalue > 1e-3


@pytest.mark.parametrize(("margin", "share"), [(0.0, 1.0), (0.5, 0.5), (0.75, 0.125), (0.9, 0.02)])
def test_feasible_share_of_uniform_draws_by_hand(margin: float, share: float) -> None:
    """For α = 1 the distances of λ₁ from 1 and of λ₂ from 0 are uniform on [0, ½] and must sum to ≤ 1 - m.

    In halves: U + U' ≤ s with s = 2(1 - m), which has probability s²/2 for s ≤ 1. m = 0.75: s = ½, ⅛.
    """
    assert feasible_share(1.0, margin) == pytest.approx(share, abs=1e-6)


@pytest.mark.parametrize(("alpha", "margin"), [(0.2, 0.5), (3.0, 0.4), (10.0, 0.2)])
def test_feasible_share_against_draws(alpha: float, margin: float) -> None:
    _, share = rejected(alpha, margin, np.random.default_rng(0), 200_000)
    assert feasible_share(alpha, margin) == pytest.approx(share, abs=5e-3)


@pytest.mark.parametrize("build", [MITL, MITA])
def test_infeasible_settings_are_refused_at_once(build: object) -> None:
    with pytest.raises(ValueError, match="margin must lie strictly between 0 and 1, got 1"):
        build(margin=1.0)
    with pytest.raises(ValueError, match=r"margin=0.9 with alpha=50.* leaves .* of all draws"):
        build(50.0, margin=0.9)
    with pytest.raises(ValueError, match="alpha must be > 0, got 0"):
        build(0.0)
    with pytest.raises(ValueError, match=r"margin must lie in \[0, 1\], got 2"):
        build(margin=2)


def test_one_draw_and_no_look_at_its_values() -> None:
    """On the meta device tensors have no values: looking at one would fail."""
    assert SeparatedBetas(1.0, 0.5).pairs(Draws(torch.device("meta")), 3).shape == (2, 3)
