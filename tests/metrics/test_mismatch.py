"""Agreement of mixed points with their labels: bins, Wilson's interval, bad input."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy.stats import binomtest

from tailormix.paper.figures.mixed_pairs import agreement_curve, agrees, wilson


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.floats(0.5, 0.999))
def test_wilson_is_that_of_scipy(counts: tuple[int, int], confidence: float) -> None:
    hits, count = counts
    expected = binomtest(hits, count).proportion_ci(confidence, method="wilson")
    low, high = wilson(hits, count, confidence)
    assert (float(low), float(high)) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert 0 <= low <= hits / count <= high <= 1


def test_wilson_of_many_at_once() -> None:
    low, high = wilson([0, 5], [10, 10])
    assert low.tolist() == pytest.approx([0.0, 0.236593], abs=1e-6)
    assert high.tolist() == pytest.approx([0.277533, 0.763407], abs=1e-6)


def test_agreement_of_one_or_the_other_label() -> None:
    assert agrees([3, 4, 5, 6], [3, 0, 5, 1], [1, 4, 5, 2]).tolist() == [True, True, True, False]


def test_curve_by_hand() -> None:
    """Distances 1 … 6 in two bins of three: 2 of {1, 2, 3} and 1 of {4, 5, 6} agree; means 2 and 5."""
    curve = agreement_curve([6, 5, 4, 3, 2, 1], [0, 1, 0, 1, 0, 1], n_bins=2)
    assert curve.count.tolist() == [3, 3]
    assert curve.distance.tolist() == [2, 5]
    assert curve.agreement.tolist() == pytest.approx([2 / 3, 1 / 3])
    assert (curve.left.tolist(), curve.right.tolist()) == ([1, 3.5], [3.5, 6])
    low, high = wilson([2, 1], [3, 3])
    assert (curve.low.tolist(), curve.high.tolist()) == (low.tolist(), high.tolist())
    assert set(curve.as_dict()) == {"left", "right", "distance", "count", "agreement", "low", "high"}


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.integers(1, 12))
def test_every_pair_is_counted_once_and_equal_distances_stay_together(
    distances: list[int], bins: int
) -> None:
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
        (lambda: agreement_curve([], []), r"must be \(n,\) with n >= 1"),
        (lambda: agreement_curve([1.0], [1, 0]), r"got shapes \(1,\) and \(2,\)"),
        (lambda: agreement_curve([float("nan")], [1]), "distance must be finite"),
        (lambda: agreement_curve([1.0], [1], n_bins=0), "n_bins must be >= 1, got 0"),
        (lambda: wilson(3, 2), "hits must lie in"),
        (lambda: wilson(0, 0), "count must be > 0"),
        (lambda: wilson(1, 2, 1.0), r"confidence must lie in \(0, 1\), got 1.0"),
    ],
)
def test_bad_input(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
