"""MMCE and its weighted form, against hand-worked values and direct double sums."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import laplacian_kernel
from torch.nn import functional

from tailormix.losses import MMCE, WeightedMMCE

K12 = math.exp(-0.15 / 0.4)
# softmax (1/4, 3/4) and (1/10, 9/10): confidences 0.75 and 0.9, both predicting class 1
LOGITS = torch.tensor([[0.0, math.log(3)], [0.0, math.log(9)]], dtype=torch.float64)
ROWS = torch.tensor([[0.6, 0.4], [0.0, 1.0]], dtype=torch.float64)


def penalty(loss: torch.nn.Module, logits: torch.Tensor, targets: torch.Tensor) -> float:
    return (loss(logits, targets) - functional.cross_entropy(logits, targets)).item()


def summary(logits: torch.Tensor, y: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    p = np.exp(logits.numpy())
    p /= p.sum(1, keepdims=True)
    return p.max(1), (p.argmax(1) == y.numpy()).astype(float)


def batch(seed: int = 0, n: int = 9) -> tuple[torch.Tensor, torch.Tensor]:
    draws = torch.Generator().manual_seed(seed)
    logits = torch.randn(n, 3, generator=draws, dtype=torch.float64)
    return logits, torch.randint(3, (n,), generator=draws)


def test_mmce_by_hand() -> None:
    """Confidences c = (0.75, 0.9), y = (1, 0) so r = (1, 0): r - c = (0.25, -0.9), K_12 = exp(-0.15/0.4).

    (1/4)·(0.25² + 0.9² - 2·0.25·0.9·K_12). The row (0.6, 0.4) is right with probability 0.4 for class 1:
    r - c = (0.4 - 0.75, 1 - 0.9).
    """
    expected = (0.0625 + 0.81 - 0.45 * K12) / 4
    assert penalty(MMCE(), LOGITS, torch.tensor([1, 0])) == pytest.approx(expected)
    assert penalty(MMCE(weight=3.0), LOGITS, torch.tensor([1, 0])) == pytest.approx(3 * expected)
    assert penalty(MMCE(), LOGITS, ROWS) == pytest.approx((0.35**2 + 0.1**2 - 2 * 0.35 * 0.1 * K12) / 4)


@pytest.mark.parametrize("seed", range(5))
def test_mmce_against_scikit_learns_kernel(seed: int) -> None:
    logits, y = batch(seed)
    c, r = summary(logits, y)
    kernel = laplacian_kernel(c[:, None], gamma=1 / 0.2)
    assert penalty(MMCE(width=0.2), logits, y) == pytest.approx((r - c) @ kernel @ (r - c) / 81)


def test_weighted_mmce_by_hand() -> None:
    """Confidences c = (0.75, 0.9), r = (1, 0), m = k = 1: A = 0.25², B = 0.9², D = 0.25·0.9·K_12.

    Rows right with r = (0.4, 1): m = 1.4, k = 0.6, u = (0.4·0.25/1.4 - 0.6·0.75/0.6, 0.1/1.4).
    """
    expected = math.sqrt(0.0625 + 0.81 - 0.45 * K12 + 1e-10)
    assert penalty(WeightedMMCE(weight=1.0), LOGITS, torch.tensor([1, 0])) == pytest.approx(expected)
    assert penalty(WeightedMMCE(), LOGITS, torch.tensor([1, 0])) == pytest.approx(2 * expected)
    u, v = 0.4 * 0.25 / 1.4 - 0.75, 0.1 / 1.4
    expected = math.sqrt(u * u + v * v + 2 * u * v * K12 + 1e-10)
    assert penalty(WeightedMMCE(weight=1.0), LOGITS, ROWS) == pytest.approx(expected)


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_weighted_mmce_against_double_loops(seed: int, double: bool) -> None:
    """A, B and D summed pair by pair and divided by m², k² and mk, once or twice."""
    logits, y = batch(seed)
    c, r = summary(logits, y)
    right, wrong = np.flatnonzero(r), np.flatnonzero(1 - r)
    assert len(right)
    assert len(wrong)
    gain = {**{i: 1 - c[i] for i in right}, **{i: c[i] for i in wrong}}

    def mean(first: np.ndarray, second: np.ndarray) -> float:
        total = sum(gain[i] * gain[j] * math.exp(-abs(c[i] - c[j]) / 0.4) for i in first for j in second)
        return total / (len(first) * len(second)) ** (2 if double else 1)

    expected = math.sqrt(mean(right, right) + mean(wrong, wrong) - 2 * mean(right, wrong) + 1e-10)
    loss = WeightedMMCE(weight=1.0, double_division=double)
    assert penalty(loss, logits, y) == pytest.approx(expected)


@pytest.mark.parametrize("y", [[1, 1], [0, 0]])
@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_weighted_mmce_without_right_or_without_wrong(y: list[int], scale: float) -> None:
    """With m = 0 or k = 0 the penalty is 0, the gradient that of cross-entropy."""
    logits = (LOGITS * scale).requires_grad_()
    loss, plain = WeightedMMCE()(logits, torch.tensor(y)), functional.cross_entropy(logits, torch.tensor(y))
    assert loss.item() == plain.item()
    torch.testing.assert_close(*(torch.autograd.grad(value, logits)[0] for value in (loss, plain)))


@pytest.mark.parametrize(("right", "wrong"), [(1, 3), (2, 9), (5, 10)])
def test_weighted_mmce_is_finite_where_rounding_falls_below_zero(right: int, wrong: int) -> None:
    """All confidences ½: A + B - 2D = (½ - ½)² = 0; single precision makes it -1e-8, its root NaN."""
    logits = torch.zeros(right + wrong, 2, requires_grad=True)
    loss = WeightedMMCE()(logits, torch.tensor([0] * right + [1] * wrong))
    assert loss.item() == pytest.approx(math.log(2), abs=1e-3)
    assert torch.autograd.grad(loss, logits)[0].isfinite().all()


def test_weighted_mmce_does_not_see_rounding_of_rows() -> None:
    """Two samples of one class give rows of λ + (1 - λ), perhaps not quite 1: still nobody is wrong."""
    rows = torch.tensor([[0.0, 1 - 6e-8], [0.0, 1.0]])
    assert penalty(WeightedMMCE(), LOGITS.float(), rows) == 0.0


@given(seed=st.integers(0, 10_000), n=st.integers(1, 12))
def test_penalties_are_not_negative(seed: int, n: int) -> None:
    """The kernel is positive definite."""
    logits, y = batch(seed, n)
    assert penalty(MMCE(), logits, y) >= -1e-12
    assert penalty(WeightedMMCE(), logits, y) >= -1e-12
