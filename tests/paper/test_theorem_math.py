"""Theorem 3.1 where all can be worked out; theorem 3.2, the readings of "label", and where it fails."""

import dataclasses

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy.stats import wasserstein_distance, wasserstein_distance_nd

from tailormix.paper.figures.theorem_math import (
    Discs,
    Gap,
    Instance,
    bound,
    counter_example,
    gaps,
    noise,
    random_classes,
    random_instance,
    truth,
    union,
    wasserstein,
    widest_gap,
)


def discs(*given_: tuple[float, float, float]) -> Discs:
    numbers = np.array(given_, dtype=float)
    return Discs(numbers[:, :2], numbers[:, 2])


def point(x: float, y: float = 0.0) -> np.ndarray:
    return np.array([x, y])


@pytest.mark.parametrize(
    ("x_k", "x_l", "around", "expected"),
    [
        # discs around 0, 5 and 10 of radius 1: outside in (1, 4) and (6, 9)
        (point(10), point(0), discs((0, 0, 1), (5, 0, 1), (10, 0, 1)), [0.1, 0.4, 0.6, 0.9]),
        # overlapping discs leave no gap between them
        (point(3), point(0), discs((0, 0, 2), (3, 0, 2)), []),
        # a line that misses every disc
        (point(1, 5), point(0, 5), discs((0, 0, 1)), [0, 1]),
        # y = 3 meets a disc of radius 5 in x = ±4: from -8 to 8 that is a quarter to three quarters
        (point(8, 3), point(-8, 3), discs((0, 0, 5)), [0, 0.25, 0.75, 1]),
    ],
)
def test_gaps_by_hand(x_k: np.ndarray, x_l: np.ndarray, around: Discs, expected: list[float]) -> None:
    assert np.array(gaps(x_k, x_l, around)).ravel().tolist() == pytest.approx(expected)


def test_a_class_in_two_parts_has_a_gap_inside() -> None:
    """Parts at 0 and 10 around another class at 5: the widest gap, of length 8, is between the two parts."""
    oblique = Gap(point(3, 4), point(0, 0), 0.2, 0.6, one_class=False)
    assert (oblique.length, oblique.promised) == pytest.approx((2, 2))
    gap = widest_gap(discs((0, 0, 1), (10, 0, 1)), discs((5, 0, 0.5)))
    assert gap is not None
    assert gap.one_class
    assert gap.length == pytest.approx(8)


@given(st.integers(0, 10_000), st.integers(1, 4))
def test_every_pair_of_separate_classes_has_a_gap(seed: int, number: int) -> None:
    first, second = random_classes(np.random.default_rng(seed), number)
    gap = widest_gap(first, second)
    assert gap is not None
    assert gap.low < gap.high
    assert gap.length == pytest.approx(gap.promised, abs=1e-12)
    inside = gap.mix(np.linspace(gap.low, gap.high, 9)[1:-1])
    own = next(one for one in (first, second) if one.holds(gap.x_k[None]).all())
    assert not (own if gap.one_class else union(first, second)).holds(inside).any()
    apart = np.linalg.norm(first.centres[:, None] - second.centres, axis=2)
    assert (apart > first.radii[:, None] + second.radii).all()


@given(st.integers(0, 10_000))
def test_wasserstein_is_that_of_scipy(seed: int) -> None:
    first, second = np.random.default_rng(seed).normal(size=(2, 4, 2))
    assert wasserstein(first, second) == pytest.approx(wasserstein_distance_nd(first, second))
    line = wasserstein_distance(first[:, 0], second[:, 0])
    assert wasserstein(first[:, :1], second[:, :1]) == pytest.approx(line)


def test_truth_and_noise_by_hand() -> None:
    """At 2 between classes at 0, 3 and 6 the distances are 2, 1 and 4: weights ½, 1 and ¼ for p = 1.

    With λ = ⅔, x̃ = 2 and q = (⅓, ⅔, 0): agreement 2/21 + 8/21, TV = 1/7, both arg-max 1. Bound ⅓ · 3 / 6.
    """
    line = np.array([[[0.0]], [[3.0]], [[6.0]]])
    instance = Instance(line, line[0, 0], line[1, 0], 2 / 3)
    assert truth(instance, np.array([2.0])).tolist() == pytest.approx([2 / 7, 4 / 7, 1 / 7])
    assert truth(instance, np.array([6.0])).tolist() == [0, 0, 1]
    assert noise(instance) == pytest.approx({"sampled": 11 / 21, "coupled": 1 / 7, "arg-max": 0})
    assert bound(instance) == pytest.approx(1 / 6)


def test_counter_example() -> None:
    """W₁ = 6, R = 12, λ = ¼: bound ⅛; x̃ = 1.5 is a point of the first class, so arg-max labels agree."""
    one = counter_example()
    assert (one.classes[0] == one.mixed).any()
    assert bound(one) == 0.125
    assert noise(one)["arg-max"] == 0 < bound(one) <= noise(one)["sampled"]


def test_coupled_labels_break_it_where_the_truth_is_linear() -> None:
    """Two points 0 and 1, p = 1: g(x̃) is (1 - λ, λ) itself, so the best coupling never disagrees."""
    line = np.array([[[0.0]], [[1.0]]])
    one = Instance(line, line[0, 0], line[1, 0], 0.3)
    assert noise(one)["coupled"] == pytest.approx(0, abs=1e-12)
    assert bound(one) == pytest.approx(0.3)
    assert noise(one)["sampled"] == pytest.approx(2 * 0.3 * 0.7)


@given(st.integers(0, 100_000), st.integers(2, 5), st.integers(1, 6))
def test_sampled_labels_keep_the_bound(seed: int, classes: int, points: int) -> None:
    one = random_instance(np.random.default_rng(seed), classes, points)
    found = noise(one)
    assert found["sampled"] >= bound(one) - 1e-12
    assert found["coupled"] <= found["sampled"] + 1e-12


@given(st.integers(0, 100_000))
def test_the_bound_is_symmetric_in_the_coefficient(seed: int) -> None:
    one = random_instance(np.random.default_rng(seed))
    assert bound(one) == pytest.approx(bound(dataclasses.replace(one, lam=1 - one.lam)))
    assert 0 <= bound(one) <= 0.5
