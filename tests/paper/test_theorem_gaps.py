"""Theorem 3.1 where everything can be worked out."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from tailormix.paper.figures.theorem_math import Discs, Gap, gaps, random_classes, union, widest_gap


def discs(*given_: tuple[float, float, float]) -> Discs:
    numbers = np.array(given_, dtype=float)
    return Discs(numbers[:, :2], numbers[:, 2])


def point(x: float, y: float = 0.0) -> np.ndarray:
    return np.array([x, y])


def test_gaps_on_a_line() -> None:
    """Discs around 0, 5 and 10 of radius 1, from x_l = 0 to x_k = 10: outside in (1, 4) and (6, 9)."""
    found = gaps(point(10), point(0), discs((0, 0, 1), (5, 0, 1), (10, 0, 1)))
    assert np.array(found).ravel().tolist() == pytest.approx([0.1, 0.4, 0.6, 0.9])


def test_overlapping_discs_leave_no_gap_between_them() -> None:
    assert gaps(point(3), point(0), discs((0, 0, 2), (3, 0, 2))) == []


def test_a_line_that_misses_every_disc_is_outside_all_along() -> None:
    assert gaps(point(1, 5), point(0, 5), discs((0, 0, 1))) == [(0.0, 1.0)]


def test_a_disc_is_cut_off_its_middle() -> None:
    """The line y = 3 meets a disc of radius 5 in x = ±4: from -8 to 8 that is a quarter to three quarters."""
    found = gaps(point(8, 3), point(-8, 3), discs((0, 0, 5)))
    assert np.array(found).ravel().tolist() == pytest.approx([0, 0.25, 0.75, 1])


def test_the_length_of_a_gap() -> None:
    gap = Gap(point(3, 4), point(0, 0), 0.2, 0.6, one_class=False)
    assert gap.length == pytest.approx(2)
    assert gap.promised == pytest.approx(2)


def test_a_class_in_two_parts_has_a_gap_inside() -> None:
    """Parts at 0 and 10 around another class at 5: the widest gap, of length 8, is between the two parts."""
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
    own = (
        union(first, second)
        if not gap.one_class
        else next(one for one in (first, second) if one.holds(gap.x_k[None]).all())
    )
    assert not own.holds(inside).any()


@given(st.integers(0, 10_000))
def test_random_classes_are_apart(seed: int) -> None:
    first, second = random_classes(np.random.default_rng(seed))
    apart = np.linalg.norm(first.centres[:, None] - second.centres, axis=2)
    assert (apart > first.radii[:, None] + second.radii).all()
