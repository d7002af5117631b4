"""Pairs of points of the plane and a model whose answers are known."""

import numpy as np
import pytest
import torch
from torch import nn

from tailormix.data.splits import MemorySplit
from tailormix.paper.figures.mixed_pairs import LAWS, draw_pairs, mixed_pairs


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


@pytest.mark.parametrize("space", ["embedding", "input"])
def test_neighbouring_classes_never_mismatch(space: str) -> None:
    found = mixed_pairs(Nearest(2).eval(), line(2, 50), pairs=80, space=space)
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


def test_a_seed_gives_the_same_pairs() -> None:
    model, split = Nearest(3).eval(), line(3, 20)
    first, second, other = (mixed_pairs(model, split, pairs=50, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.distance, second.distance)
    assert not np.array_equal(first.distance, other.distance)


def test_more_pairs_than_rows() -> None:
    first, second = draw_pairs(5, 13, torch.Generator().manual_seed(0))
    assert len(first) == len(second) == 13
    assert not (first == second).any()
    assert sorted(first[:5].tolist()) == sorted(second[5:10].tolist()) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(("rows", "pairs"), [(1, 3), (3, 0)])
def test_too_few(rows: int, pairs: int) -> None:
    with pytest.raises(ValueError, match="must be >="):
        draw_pairs(rows, pairs, torch.Generator())
