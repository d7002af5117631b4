"""Statistics against scipy, and Holm's correction against its definition."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tailormix.paper.statistics import holm, paired_test, pooled_difference, ranks
from tailormix.reports.run_groups import MeanStd

NUMBERS = st.floats(-100, 100, allow_nan=False).map(lambda value: round(value, 3))


@given(st.lists(NUMBERS, min_size=2, max_size=12))
def test_mean_and_deviation_are_numpys(values: list[float]) -> None:
    found = MeanStd.of(values)
    assert found.n == len(values)
    assert found.mean == pytest.approx(np.mean(values), abs=1e-9)
    assert found.std == pytest.approx(np.std(values, ddof=1), abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_paired_is_scipys_paired_t_test_over_shared_seeds(seed: int) -> None:
    random = np.random.default_rng(seed)
    ours, theirs = random.normal(0.5, 1, size=6), random.normal(size=6)
    found = paired_test(dict(enumerate(ours)) | {9: 100.0}, dict(enumerate(theirs)))
    assert found.n == 6
    assert found.difference == pytest.approx(np.mean(ours - theirs))
    assert found.p == pytest.approx(stats.ttest_rel(ours, theirs).pvalue, rel=1e-9)


def test_limits() -> None:
    assert MeanStd.of([2.0]) == MeanStd(2.0, None, 1)
    assert paired_test({0: 1.0}, {1: 1.0}) is None
    single = paired_test({0: 2.0}, {0: 1.0})
    assert (single.difference, single.p) == (1.0, None)
    assert paired_test({0: 1.0, 1: 2.0}, {0: 1.0, 1: 2.0}).p == 1.0
    assert paired_test({0: 2.0, 1: 3.0}, {0: 1.0, 1: 2.0}).p == 0.0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holm_rejects_what_the_step_down_procedure_rejects(p_values: list[float]) -> None:
    """Step down: reject the i-th smallest while p_(i) ≤ α / (m - i + 1); stop at the first that is not."""
    corrected = holm(p_values)
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    for level in (0.011, 0.05, 0.3):
        steps = (p_values[index] * (len(p_values) - place) <= level for place, index in enumerate(order))
        rejected = {order[place] for place, _ in enumerate(itertools.takewhile(bool, steps))}
        assert {index for index, p in enumerate(corrected) if p <= level} == rejected
    assert all(one >= p for one, p in zip(corrected, p_values, strict=True))


def test_pooled_deviations_by_hand() -> None:
    """√((0.3² + 0.4²)/2) = 0.353553; (2.0 - 1.5)/0.353553 = 1.414214. Without the paper's: 0.5/0.3."""
    ours = MeanStd(2.0, 0.3, 4)
    assert pooled_difference(ours, 1.5, 0.4) == pytest.approx(math.sqrt(2))
    assert pooled_difference(ours, 1.5, None) == pytest.approx(0.5 / 0.3)
    assert pooled_difference(MeanStd(2.0, None, 1), 1.5, 0.25) == pytest.approx(2.0)
    assert pooled_difference(MeanStd(2.0, None, 1), 1.5, None) is None
    assert pooled_difference(MeanStd(2.0, 0.0, 2), 1.5, 0.0) is None


def test_ranks_share_places() -> None:
    values = {"a": 3.0, "b": 1.0, "c": 3.0}
    assert ranks(values, "higher") == {"a": 1, "b": 2, "c": 1}
    assert ranks(values, "lower") == {"a": 2, "b": 1, "c": 2}
    assert ranks(values, "none") == {}
