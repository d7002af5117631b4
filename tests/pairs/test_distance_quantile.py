"""Distance-quantile pairs: the threshold, who is admissible, and large or awkward batches."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tailormix.draws import Draws

from nets import batch, seeded
from tailormix.kernel import NARROW, all_squared, ordered_pairs
from tailormix.pairs import DistanceQuantile, order_statistic

CPU = torch.device("cpu")
LINE = torch.tensor([[0.0], [1.0], [3.0]])


def partners(word: DistanceQuantile, points: torch.Tensor, times: int) -> torch.Tensor:
    """Partners of many draws, (times, n)."""
    draws = Draws(CPU, seeded())
    data = batch(points, torch.zeros(len(points), dtype=torch.int64))
    return torch.stack([word(data, draws) for _ in range(times)])


@pytest.mark.parametrize(
    ("q", "side", "expected"),
    [
        (0.5, "lower", [{0, 1}, {0, 1}, {2}]),
        (0.5, "higher", [{0, 2}, {1, 2}, {0, 1, 2}]),
        (0.6, "lower", [{0, 1}, {0, 1}, {2}]),
        (0.75, "lower", [{0, 1}, {0, 1, 2}, {1, 2}]),
        (0.25, "lower", [{0}, {1}, {2}]),
    ],
)
def test_admissible_partners_by_hand(q: float, side: str, expected: list[set[int]]) -> None:
    """Points 0, 1, 3: the nine distances in order are 0 0 0 1 1 2 2 3 3.

    θ lies at position 8q: q = 0.25 → 0; 0.5 → 1; 0.6 → position 4.8, between 1 and 2: 1.8; 0.75 → 2.
    Lower keeps D ≤ θ, higher D > θ, and everybody may always be paired with themselves.
    """
    drawn = partners(DistanceQuantile(q, side, "input"), LINE, 200)
    assert [set(column.tolist()) for column in drawn.T] == expected


def test_threshold_is_the_last_entry_below_the_quantile() -> None:
    """Distances 0 0 0 1 1 2 2 3 3: position 4.8 lies between 1 and 2, and 1 divides them as 1.8 does."""
    assert order_statistic(ordered_pairs(LINE), 3, 0.6) == 1


@given(st.integers(2, 12), st.floats(0, 1), st.integers(0, 100))
def test_threshold_is_the_quantile_of_all_entries(n: int, q: float, seed: int) -> None:
    points = torch.randn(n, 2, generator=seeded(seed), dtype=torch.float64)
    distances = torch.cdist(points, points, compute_mode="donot_use_mm_for_euclid_dist")
    expected = torch.quantile(distances, q, interpolation="lower")
    found = order_statistic(ordered_pairs(points), n, q)
    assert found == pytest.approx(expected.item())
    assert torch.equal(ordered_pairs(points) <= found, torch.pdist(points) <= expected * (1 + 1e-12))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_points_must_be_finite(bad: float) -> None:
    points = torch.tensor([[0.0], [1.0], [bad], [2.0]])
    with pytest.raises(ValueError, match="must be finite, got NaN or infinity in row 2"):
        partners(DistanceQuantile(0.5, "lower", "input"), points, 1)
    assert partners(DistanceQuantile(0.5, "lower", "input"), torch.tensor([[0.0], [3e38]]), 1).shape == (1, 2)


def test_the_compiler_finds_the_same_threshold() -> None:
    pairs = torch.rand(28, generator=seeded())
    found = torch.compile(order_statistic, backend="aot_eager", fullgraph=True)(pairs, 8, 0.7)
    assert found == order_statistic(pairs, 8, 0.7)


def test_wide_points_are_ordered_like_narrow_ones() -> None:
    points = torch.randn(9, NARROW, generator=seeded(0), dtype=torch.float64)
    wide = torch.cat((points, torch.zeros(9, 1, dtype=torch.float64)), dim=1)
    assert torch.equal(ordered_pairs(points).argsort(), ordered_pairs(wide).argsort())


def test_admissible_partners_are_equally_likely() -> None:
    """Points 0, 1, 3, 3.5 and q = 11/15: θ = 2.5, so that 1 may be paired with 0, 1, 2 and 3."""
    points = torch.tensor([[0.0], [1.0], [3.0], [3.5]])
    assert order_statistic(ordered_pairs(points), 4, 11 / 15) == pytest.approx(2.5)
    drawn = partners(DistanceQuantile(11 / 15, "lower", "input"), points, 2000)
    assert stats.chisquare(torch.bincount(drawn[:, 1], minlength=4)).pvalue > 1e-3
    assert stats.chisquare(torch.bincount(drawn[:, 0], minlength=2)).pvalue > 1e-3
    assert drawn[:, 0].max() == 1


@pytest.mark.parametrize("seed", [31, 36, 72, 98, 108])
def test_no_pair_is_above_the_greatest_distance(seed: int) -> None:
    """Rounding once put one of D_ij, D_ji above the greatest entry over the diagonal."""
    points = torch.randn(32, 3, generator=seeded(seed)) + 5
    data = batch(points, torch.zeros(32, dtype=torch.int64))
    assert DistanceQuantile(1.0, "higher", "input")(data, Draws(CPU)).equal(torch.arange(32))


def test_distances_survive_far_from_the_origin() -> None:
    """Labels around 120 dB that differ by thousandths: ‖a‖² + ‖b‖² - 2ab would lose them in float32."""
    labels = 120 + torch.arange(32, dtype=torch.float64)[:, None] / 512
    exact = (labels - labels.T).abs()
    torch.testing.assert_close(all_squared(labels.float()).sqrt().double(), exact, rtol=1e-3, atol=1e-5)


def test_more_entries_than_torch_quantile_takes() -> None:
    n = 4097
    points = torch.arange(n, dtype=torch.float32)[:, None]
    with pytest.raises(RuntimeError, match="too large"):
        torch.quantile(torch.zeros(n * n), 0.5)
    # The share of pairs with |i - j| ≤ θ is about 2θ/n - (θ/n)²: a tenth of all at θ ≈ 0.0513 n = 210.
    drawn = partners(DistanceQuantile(0.1, "lower", "input"), points, 1)[0]
    gap = (drawn - torch.arange(n)).abs()
    assert 195 < gap.max() <= 211


def test_regression_measures_labels_and_classification_embeddings() -> None:
    x = torch.zeros(3, 2)
    word = DistanceQuantile(0.5)
    assert word.needs_embeddings is None
    near = batch(x, LINE[:, 0])
    seen = {int(word(near, Draws(CPU, seeded(i)))[2]) for i in range(50)}
    assert seen == {2}
    with pytest.raises(ValueError, match="embeddings are needed"):
        word(batch(x, [0, 1, 2]), Draws(CPU))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"q": 1.5}, "q must lie in"),
        ({"side": "low"}, "unknown side 'low'; did you mean 'lower'"),
        ({"space": "inputs"}, "did you mean 'input'"),
    ],
)
def test_bad_settings(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DistanceQuantile(**settings)
