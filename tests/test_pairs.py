"""Pairs: who may be drawn, how often, and awkward batches."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.neighbors import KernelDensity
from torch.utils._python_dispatch import TorchDispatchMode

from nets import Scripted, batch, seeded
from tailormix import CMixup, KMixup, checks
from tailormix.batch import Batch, Draws, Pool
from tailormix.kernel import all_distances
from tailormix.pairs import (
    DistanceQuantile,
    LabelDensity,
    OptimalTransport,
    RandomPairs,
    SelfPairs,
    density,
    match_blocks,
    quantile,
)
from tailormix.warping import TABLE


def draws(seed: int = 0) -> Draws:
    return Draws(torch.device("cpu"), torch.Generator().manual_seed(seed))


def samples(n: int, pool: Pool | None = None) -> Batch:
    return Batch(torch.rand(n, 2), torch.zeros(n, dtype=torch.long), pool=pool)


@pytest.mark.parametrize("n", [1, 2, 3, 128])
def test_random_pairs_are_a_permutation(n: int) -> None:
    partner = RandomPairs()(samples(n), draws())
    assert partner.sort().values.tolist() == list(range(n))


def test_random_pairs_from_the_pool() -> None:
    pool = Pool(torch.rand(1000, 2), torch.zeros(1000))
    pairs = RandomPairs("pool")
    assert pairs.source == "pool"
    assert RandomPairs().source == "batch"
    partner = pairs(samples(500, pool), draws())
    assert partner.shape == (500,)
    assert bool((partner >= 0).all())
    assert bool((partner < 1000).all())
    assert partner.unique().numel() < 500  # with replacement: 500 of 1000 without a repeat has chance e^-150
    assert bool((partner >= 500).any())


def test_self_pairs() -> None:
    assert SelfPairs()(samples(4), draws()).tolist() == [0, 1, 2, 3]


def test_unknown_source() -> None:
    with pytest.raises(ValueError, match=r"unknown source 'pol'; did you mean 'pool'\?"):
        RandomPairs("pol")


CPU = torch.device("cpu")
LINE = torch.tensor([[0.0], [1.0], [3.0]])


def partners(pairs: DistanceQuantile, points: torch.Tensor, times: int) -> torch.Tensor:
    """Partners of many draws, (times, n)."""
    draws = Draws(CPU, seeded())
    data = batch(points, torch.zeros(len(points), dtype=torch.int64))
    return torch.stack([pairs(data, draws) for _ in range(times)])


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
    assert quantile(all_distances(LINE).flatten(), 0.6) == 1


@given(st.integers(2, 12), st.floats(0, 1), st.integers(0, 100))
def test_threshold_is_the_quantile_of_all_entries(n: int, q: float, seed: int) -> None:
    distances = all_distances(torch.randn(n, 2, generator=seeded(seed), dtype=torch.float64)).flatten()
    assert quantile(distances, q) == torch.quantile(distances, q, interpolation="lower")


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_points_must_be_finite(bad: float) -> None:
    points = torch.tensor([[0.0], [1.0], [bad], [2.0]])
    with pytest.raises(ValueError, match="must be finite, got NaN or infinity in row 2"):
        partners(DistanceQuantile(0.5, "lower", "input"), points, 1)
    assert partners(DistanceQuantile(0.5, "lower", "input"), torch.tensor([[0.0], [3e38]]), 1).shape == (1, 2)


def test_admissible_partners_are_equally_likely() -> None:
    """Points 0, 1, 3, 3.5 and q = 11/15: θ = 2.5, so that 1 may be paired with 0, 1, 2 and 3."""
    points = torch.tensor([[0.0], [1.0], [3.0], [3.5]])
    assert quantile(all_distances(points).flatten(), 11 / 15) == pytest.approx(2.5)
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
    torch.testing.assert_close(all_distances(labels.float()).double(), exact, rtol=1e-3, atol=1e-5)


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
    pairs = DistanceQuantile(0.5)
    assert pairs.needs_embeddings is None
    near = batch(x, LINE[:, 0])
    seen = {int(pairs(near, Draws(CPU, seeded(i)))[2]) for i in range(50)}
    assert seen == {2}
    with pytest.raises(ValueError, match="embeddings are needed"):
        pairs(batch(x, [0, 1, 2]), Draws(CPU))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"q": 1.5}, "q must lie in"),
        ({"side": "low"}, "unknown side 'low'; did you mean 'lower'"),
        ({"space": "inputs"}, "did you mean 'input'"),
    ],
)
def test_bad_settings_of_distance_quantile(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DistanceQuantile(**settings)


CPU = torch.device("cpu")


def drawn(labels: torch.Tensor, row: int, bandwidth: float, times: int) -> torch.Tensor:
    """Partners of many copies of one training sample, drawn from the whole training set."""
    y = labels[row].expand(times, *labels.shape[1:])
    data = batch(torch.zeros(times, 1), y, pool=Pool(torch.zeros(len(labels), 1), labels))
    return LabelDensity(bandwidth)(data, Draws(CPU, seeded()))


def test_weights_by_hand() -> None:
    """Labels 0 and 2 with h = 1: exp(0) = 1 and exp(-4/2) = e⁻²; with h = 2: exp(-4/8) = e^-½."""
    points, labels = torch.tensor([[0.0]]), torch.tensor([[0.0], [2.0]])
    torch.testing.assert_close(
        density(points, labels, 1.0), torch.tensor([[1.0, math.exp(-2)]], dtype=torch.float64)
    )
    torch.testing.assert_close(
        density(points, labels, 2.0), torch.tensor([[1.0, math.exp(-0.5)]], dtype=torch.float64)
    )


@pytest.mark.parametrize("shape", [(6,), (6, 1), (6, 3)])
def test_frequencies_follow_the_definition(shape: tuple[int, ...]) -> None:
    labels = torch.randn(shape, generator=seeded(1))
    gap = (labels.reshape(6, -1) - labels[2].reshape(1, -1)).square().sum(1).double()
    weight = (-gap / (2 * 0.8**2)).exp().numpy()
    counts = torch.bincount(drawn(labels, 2, 0.8, 20_000), minlength=6).numpy()
    assert stats.chisquare(counts, 20_000 * weight / weight.sum()).pvalue > 1e-3


def test_raw_decibels_with_a_narrow_bandwidth_equal_kernel_density() -> None:
    """The published way: one KernelDensity a training point, scored on all labels."""
    rng = np.random.default_rng(0)
    labels = np.round(rng.normal(125, 7, 200), 3)
    labels[50:100] = labels[:50] + rng.choice([0, 0.004, 0.013], 50)
    rows = torch.from_numpy(labels.astype(np.float32))[:, None].double()
    ours = density(rows[:20], rows, 0.01).numpy()
    for i in range(20):
        kernel = KernelDensity(kernel="gaussian", bandwidth=0.01).fit(rows[i : i + 1].numpy())
        theirs = np.exp(kernel.score_samples(rows.numpy()))
        np.testing.assert_allclose(ours[i] / ours[i].sum(), theirs / theirs.sum(), rtol=1e-9, atol=1e-25)


def test_raw_decibels_are_drawn_in_full_precision() -> None:
    """In float32, 120.004 and 120.014 differ by one bandwidth of 0.01: weights 1 and e^-½ from the first."""
    labels = torch.tensor([120.004, 120.014, 126.0])
    gap = float(labels[1].double() - labels[0].double())
    weight = np.array([1.0, math.exp(-((gap / 0.01) ** 2) / 2)])
    counts = torch.bincount(drawn(labels, 0, 0.01, 20_000), minlength=3).numpy()
    assert counts[2] == 0
    assert stats.chisquare(counts[:2], 20_000 * weight / weight.sum()).pvalue > 1e-3


def test_a_label_far_from_all_others_takes_the_nearest() -> None:
    """exp(-10⁸/2) underflows to 0 for everybody; relative to the nearest one it does not."""
    labels = torch.tensor([0.0, 1.0, 2.0])
    data = batch(torch.zeros(4, 1), torch.full((4,), 1e4), pool=Pool(torch.zeros(3, 1), labels))
    assert LabelDensity(1.0)(data, Draws(CPU)).tolist() == [2, 2, 2, 2]


def test_what_has_no_weight_is_never_drawn() -> None:
    """Weights 0, 0, 1 (underflowed) and a uniform draw of exactly 0: still the third."""
    data = batch(
        torch.zeros(1, 1), torch.tensor([5.0]), pool=Pool(torch.zeros(3, 1), torch.tensor([0.0, 1.0, 5.0]))
    )
    assert LabelDensity(1e-3)(data, Scripted([0.0])).tolist() == [2]


class Largest(TorchDispatchMode):
    """Keeps the greatest number of entries of any tensor that is made."""

    entries = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        for value in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(value, torch.Tensor):
                self.entries = max(self.entries, value.numel())
        return result


def test_no_table_of_all_pairs_is_ever_formed() -> None:
    n, size = 8, 3000
    x, y = torch.randn(size, 2), torch.randn(size)
    with Largest() as largest:
        method = CMixup(bandwidth=0.1).fit(x, y)
        method.loss(torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Flatten(0)), x[:n], y[:n])
    assert n * size <= largest.entries <= max(2 * n * size, TABLE.numel())


def test_partners_within_the_batch_need_no_pool() -> None:
    y = torch.tensor([0.0, 0.0, 9.0, 9.0])
    partner = CMixup(bandwidth=0.1, partners="batch").plan(torch.zeros(4, 1), y).partner
    assert set(partner[:2].tolist()) <= {0, 1}
    assert set(partner[2:].tolist()) <= {2, 3}


def test_errors() -> None:
    with pytest.raises(ValueError, match=r"call fit\(x, y\)"):
        CMixup().plan(torch.zeros(2, 1), torch.zeros(2))
    with pytest.raises(ValueError, match="need real targets, got class labels"):
        CMixup(partners="batch").plan(torch.zeros(2, 1), torch.tensor([0, 1]))
    with pytest.raises(ValueError, match="bandwidth must be > 0, got 0"):
        CMixup(bandwidth=0)
    with pytest.raises(ValueError, match="did you mean 'pool'"):
        CMixup(partners="pol")


def matched_with(points: torch.Tensor, permutation: torch.Tensor, k: int, squared: bool) -> torch.Tensor:
    """Partners, given π."""
    return permutation[match_blocks(points, points[permutation], k, squared)]


def test_obvious_matching() -> None:
    """Points 0, 10 | 10.2, 0.1, blocks of two, π swaps the blocks: 0 goes with 0.1 and 10 with 10.2."""
    points = torch.tensor([[0.0], [10.0], [10.2], [0.1]])
    assert matched_with(points, torch.tensor([2, 3, 0, 1]), 2, True).tolist() == [3, 2, 1, 0]


def test_models_that_train_together_are_matched_each_for_itself(capfd: pytest.CaptureFixture[str]) -> None:
    points, others = torch.randn(2, 3, 6, 2, generator=seeded(0))
    together = torch.vmap(match_blocks, (0, 0, None, None))(points, others, 4, True)
    alone = [match_blocks(*rows, 4, True) for rows in zip(points, others, strict=True)]
    assert together.tolist() == [rows.tolist() for rows in alone]
    shared = torch.vmap(match_blocks, (1, None, None, None))(points.movedim(0, 1), others[0], 4, True)
    assert shared.tolist() == [match_blocks(each, others[0], 4, True).tolist() for each in points]
    assert "performance drop" not in capfd.readouterr().err


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
    component = OptimalTransport(k=2, space="embedding")
    assert component.needs_embeddings
    draws = Draws(torch.device("cpu"), seeded())
    matched = torch.stack([component(data, draws) for _ in range(30)])
    assert torch.equal(matched.sort(1).values, torch.arange(4).expand(30, 4))


def test_bad_settings_of_optimal_transport() -> None:
    with pytest.raises(ValueError, match="k must be >= 1, got 0"):
        KMixup(k=0)
    with pytest.raises(TypeError, match="k must be a whole number"):
        KMixup(k=2.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unknown space"):
        OptimalTransport(space="pixels")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_label_density_needs_finite_labels(value: float) -> None:
    x, y = torch.zeros(4, 1), torch.tensor([[0.0], [1.0], [2.0], [3.0]])
    wrong = y.clone()
    wrong[2] = value
    message = "y must be finite for C-Mixup, got NaN or infinity in row 2"
    with pytest.raises(ValueError, match=message):
        CMixup().fit(x, wrong)
    for method in (CMixup(partners="batch"), CMixup().fit(x, y)):
        with pytest.raises(ValueError, match=message):
            method.plan(x, wrong)


def test_label_density_where_labels_cannot_be_looked_at() -> None:
    """A NaN gets some partner of the batch, and its own loss is NaN."""
    y = torch.tensor([0.0, math.nan, 2.0])
    with checks.trusted():
        x, mixed = CMixup(partners="batch")(torch.zeros(3, 1), y)
    assert x.shape == (3, 1)
    assert mixed[1].isnan()
