"""Agreement of mixed points with their labels: pairs with a known model, bins and Wilson intervals."""

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given
from scipy.stats import binomtest
from torch import nn

from tailormix.data.splits import MemorySplit
from tailormix.paper.figures.mismatch import LAWS, agreement_curve, draw_pairs, mixed_pairs


class Nearest(nn.Module):
    """Classes lie on a line: class m around m; the input passes a linear layer on its way."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.same = nn.Linear(1, 1)
        nn.init.ones_(self.same.weight)
        nn.init.zeros_(self.same.bias)
        self.register_buffer("middles", torch.arange(classes).float())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return -(self.same(x) - self.middles).abs()


def line(classes: int, each: int) -> MemorySplit:
    y = torch.arange(classes).repeat(each)
    return MemorySplit(y.float()[:, None], y, torch.arange(len(y)))


def test_neighbouring_classes_never_mismatch() -> None:
    found = mixed_pairs(Nearest(2).eval(), line(2, 50), pairs=80)
    assert all(found.agreeing[law].all() for law in LAWS)
    assert found.both_right.all()
    assert found.distance.mean() == pytest.approx(1, abs=1e-5)
    assert (found.distance == 0).tolist() == found.same_class.tolist()


def test_ends_agree_and_a_third_class_lies_between() -> None:
    """Classes 0, 1, 2: mixes of 0 and 2 that land within (½, 1½) are seen as 1, half of them for uniform λ.

    With τ_std = 0.05 far pairs are hardly mixed, and their class is one of the two again.
    """
    found = mixed_pairs(Nearest(3).eval(), line(3, 400), pairs=2400, tau_std=0.05)
    far = found.distance == found.distance.max()
    assert found.agreeing["unmixed"].all()
    assert found.agreeing["uniform"][~far].all()
    assert found.agreeing["uniform"][far].mean() == pytest.approx(0.5, abs=0.08)
    assert found.agreeing["similarity-kernel"][far].all()


def test_seeds_decide_and_pairs_may_be_more_than_rows() -> None:
    model, split = Nearest(3).eval(), line(3, 20)
    one, same, other = (mixed_pairs(model, split, pairs=50, seed=seed).distance for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    first, second = draw_pairs(5, 13, torch.Generator().manual_seed(0))
    assert len(first) == len(second) == 13
    assert not (first == second).any()
    assert sorted(first[:5].tolist()) == sorted(second[5:10].tolist()) == [0, 1, 2, 3, 4]


def test_curve_by_hand() -> None:
    """Distances 1 … 6 in two bins of three: 2 of {1, 2, 3} and 1 of {4, 5, 6} agree; means 2 and 5."""
    curve = agreement_curve([6, 5, 4, 3, 2, 1], [0, 1, 0, 1, 0, 1], n_bins=2)
    assert curve.count.tolist() == [3, 3]
    assert curve.distance.tolist() == [2, 5]
    assert curve.agreement.tolist() == pytest.approx([2 / 3, 1 / 3])
    assert (curve.left.tolist(), curve.right.tolist()) == ([1, 3.5], [3.5, 6])
    for k, low, high in zip((2, 1), curve.low, curve.high, strict=True):
        assert (low, high) == binomtest(k, 3).proportion_ci(0.95, method="wilson")
        assert 0 <= low <= k / 3 <= high <= 1


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.integers(1, 12))
def test_pairs_are_counted_once_and_equal_distances_together(distances: list[int], bins: int) -> None:
    hits = [value % 2 for value in distances]
    curve = agreement_curve(distances, hits, n_bins=bins)
    assert curve.count.sum() == len(distances)
    assert (curve.agreement * curve.count).sum() == pytest.approx(sum(hits))
    assert (np.diff(curve.distance) > 0).all()
    assert ((curve.left <= curve.distance + 1e-12) & (curve.distance <= curve.right + 1e-12)).all()
    assert len(curve.count) <= len(set(distances))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: draw_pairs(1, 3, torch.Generator()), "must be >="),
        (lambda: draw_pairs(3, 0, torch.Generator()), "must be >="),
        (lambda: agreement_curve([], []), r"must be \(n,\) with n >= 1"),
        (lambda: agreement_curve([1.0], [1, 0]), r"got shapes \(1,\) and \(2,\)"),
        (lambda: agreement_curve([float("nan")], [1]), "distance must be finite"),
        (lambda: agreement_curve([1.0], [1], n_bins=0), "n_bins must be >= 1, got 0"),
    ],
)
def test_bad_input(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
