"""Optimal-transport pairs (k-Mixup): matchings that are obvious, and those found by trying all."""

from __future__ import annotations

import itertools

import pytest
import torch
from tailormix.draws import Draws

from nets import batch, seeded
from tailormix import KMixup
from tailormix.pairs import OptimalTransport, match_blocks


def matched_with(points: torch.Tensor, permutation: torch.Tensor, k: int, squared: bool) -> torch.Tensor:
    """Partners, given π."""
    return permutation[match_blocks(points, points[permutation], k, squared)]


def test_obvious_matching() -> None:
    """Points 0, 10 | 10.2, 0.1, blocks of two, π swaps the blocks: 0 goes with 0.1 and 10 with 10.2."""
    points = torch.tensor([[0.0], [10.0], [10.2], [0.1]])
    assert matched_with(points, torch.tensor([2, 3, 0, 1]), 2, True).tolist() == [3, 2, 1, 0]


def test_squares_may_change_the_matching() -> None:
    """Block a = (0, 0), b = (2, 0); images b and c with ‖ac‖ = 3, ‖bc‖ = 1.5.

    a→c, b→b costs 3 + 0 = 3 (squared 9); a→b, b→c costs 2 + 1.5 = 3.5 (squared 6.25).
    c = (x, y) with x² + y² = 9 and (x-2)² + y² = 2.25: x = 2.6875, y = √(9 - x²).
    """
    c = (2.6875, (9 - 2.6875**2) ** 0.5)
    points = torch.tensor([(0.0, 0.0), (2.0, 0.0), (2.0, 0.0), c])
    permutation = torch.tensor([3, 2, 0, 1])
    assert matched_with(points, permutation, 2, False)[:2].tolist() == [3, 2]
    assert matched_with(points, permutation, 2, True)[:2].tolist() == [2, 3]


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("n", [8, 10])
def test_no_other_matching_is_cheaper(n: int, squared: bool) -> None:
    points = torch.randn(n, 3, generator=seeded(n), dtype=torch.float64)
    permutation = torch.randperm(n, generator=seeded(1))
    matched = matched_with(points, permutation, 4, squared)
    for start in range(0, n, 4):
        block, image = range(start, min(start + 4, n)), permutation[start : start + 4].tolist()

        def cost(target: tuple[int, ...], block: range = block) -> float:
            length = (points[list(block)] - points[list(target)]).norm(dim=1)
            return float((length.square() if squared else length).sum())

        assert set(matched[start : start + 4].tolist()) == set(image)
        found = cost(tuple(matched[start : start + 4].tolist()))
        assert found == pytest.approx(min(map(cost, itertools.permutations(image))))


def test_one_block_of_everybody_pairs_each_with_itself() -> None:
    x = torch.randn(6, 2, generator=seeded())
    plan = KMixup(k=6).plan(x, torch.zeros(6), generator=seeded(3))
    assert plan.partner.equal(torch.arange(6))


def test_distances_in_another_space() -> None:
    data = batch(torch.zeros(4, 1), [0, 1, 0, 1], embeddings=torch.tensor([[0.0], [9.0], [9.0], [0.0]]))
    word = OptimalTransport(k=2, space="embedding")
    assert word.needs_embeddings
    draws = Draws(torch.device("cpu"), seeded())
    matched = torch.stack([word(data, draws) for _ in range(30)])
    assert torch.equal(matched.sort(1).values, torch.arange(4).expand(30, 4))


def test_bad_settings() -> None:
    with pytest.raises(ValueError, match="k must be >= 1, got 0"):
        KMixup(k=0)
    with pytest.raises(TypeError, match="k must be a whole number"):
        KMixup(k=2.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unknown space"):
        OptimalTransport(space="pixels")
