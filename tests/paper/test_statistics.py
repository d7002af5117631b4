"""Statistics against scipy, and Holm's correction against its definition."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tailormix.paper.statistics import frequency_test, holm, paired_test, ranks, standard_errors
from tailormix.reports.numbers import MeanStd

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
    assert paired_test({0: 2.0, 1: 3.0}, {0: 1.0, 1: 2.0}, margin=1.5).p == 0.0
    assert paired_test({0: 2.0, 1: 3.0}, {0: 1.0, 1: 2.0}, margin=0.5).p == 1.0


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


def test_standard_errors_by_hand() -> None:
    """√(0.3²/9 + 0.4²/4) = √0.05; with 0.3 for both √(0.01 + 0.0225); with one run √(0.25² + 0.25²/4)."""
    ours = MeanStd(2.0, 0.3, 9)
    assert standard_errors(ours, 1.5, 0.4, 4) == pytest.approx(0.5 / math.sqrt(0.05))
    assert standard_errors(ours, 1.5, None, 4) == pytest.approx(0.5 / math.sqrt(0.0325))
    assert standard_errors(MeanStd(2.0, None, 1), 1.5, 0.25, 4) == pytest.approx(0.5 / math.sqrt(0.078125))
    assert standard_errors(MeanStd(2.0, None, 1), 1.5, None, 4) is None
    assert standard_errors(MeanStd(2.0, 0.0, 2), 1.5, 0.0, 4) is None


@pytest.mark.parametrize("seed", range(5))
def test_standard_errors_are_welchs_statistic(seed: int) -> None:
    random = np.random.default_rng(seed)
    ours, theirs = random.normal(size=5), random.normal(1, 3, size=10)
    expected = stats.ttest_ind(ours, theirs, equal_var=False).statistic
    found = standard_errors(MeanStd.of(ours), theirs.mean(), theirs.std(ddof=1), 10)
    assert found == pytest.approx(expected)


def test_equivalence_by_hand() -> None:
    """Differences 0, 1, 2: mean 1, standard error 1/√3; two degrees of freedom: P(T > t) = ½ - t/(2√(t²+2)).

    Margin 5: t = 4√3 at the upper end, the nearer one, p = ½ - √48 / (2√50) = 0.0101. Margin 2: t = √3,
    p = ½ - √3 / (2√5) = 0.1127. Margin 0: the difference 1 is beyond it with t = -√3, p = 1 - 0.1127.
    """
    row, zeros = {0: 0.0, 1: 1.0, 2: 2.0}, dict.fromkeys(range(3), 0.0)
    near = 0.5 - math.sqrt(3) / (2 * math.sqrt(5))
    for margin, p in ((5.0, 0.5 - math.sqrt(48) / (2 * math.sqrt(50))), (2.0, near), (0.0, 1 - near)):
        assert paired_test(row, zeros, margin).p == pytest.approx(p)
        assert paired_test(zeros, row, margin).p == pytest.approx(
            p
        )  # the sign of the difference is no matter
    assert paired_test(row, zeros, margin=5.0).difference == 1.0


@pytest.mark.parametrize("seed", range(5))
def test_equivalent_is_where_the_90_percent_interval_lies_within_the_margin(seed: int) -> None:
    """Schuirmann's identity: TOST rejects at 5 % where the 90 % interval of the difference is inside."""
    random = np.random.default_rng(seed)
    ours, theirs = dict(enumerate(random.normal(size=8))), dict(enumerate(random.normal(size=8)))
    interval = stats.ttest_rel(list(ours.values()), list(theirs.values())).confidence_interval(0.9)
    end = max(abs(interval.low), abs(interval.high))
    assert paired_test(ours, theirs, end).p == pytest.approx(0.05)
    near_end = max(interval.low, -interval.high)  # of an interval outside ±margin, if it is positive
    if near_end > 0:
        assert paired_test(ours, theirs, near_end).p == pytest.approx(0.95)


def test_frequencies_by_hand() -> None:
    """0.2 / √(0.24/100 + 0.24/100) = 2.8868 deviations of a normal: p = 0.003892; 1 and 0 leave no doubt."""
    assert frequency_test(0.6, 0.4, 100) == pytest.approx(0.003892, abs=1e-6)
    assert (frequency_test(1.0, 0.0, 5), frequency_test(1.0, 1.0, 5)) == (0.0, 1.0)


def test_ranks_share_places() -> None:
    values = {"a": 3.0, "b": 1.0, "c": 3.0}
    assert ranks(values, "higher") == {"a": 1, "b": 2, "c": 1}
    assert ranks(values, "lower") == {"a": 2, "b": 1, "c": 2}
    assert ranks(values, "none") == {}
