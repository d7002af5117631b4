"""Summaries against scipy and values worked out by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from tailormix.studies.study import read_study
from tailormix.studies.summary import (
    Values,
    comparable,
    over_data_sets,
    paired,
    ranked,
    ranking,
    win_rate,
)


def rows(metric: str, table: dict[tuple[str, str], list[float]]) -> list[dict[str, str]]:
    return [
        {"data": data, "row": row, "seed": str(seed), metric: str(value)}
        for (data, row), values in table.items()
        for seed, value in enumerate(values)
    ]


def test_the_paired_interval_is_scipys() -> None:
    ours, theirs = np.array([1.0, 2.0, 4.0]), np.array([0.5, 2.5, 2.0])
    found = paired(dict(enumerate(ours)), dict(enumerate(theirs)))
    peer = stats.ttest_rel(ours, theirs).confidence_interval(0.95)
    assert (found.mean, found.low, found.high) == pytest.approx((2 / 3, peer.low, peer.high))


def test_differences_are_averaged_over_data_sets_not_over_seeds() -> None:
    table = {("a", "x"): [1.0], ("a", "erm"): [0.0], ("b", "x"): [3.0, 3.0], ("b", "erm"): [0.0, 0.0]}
    values = Values(rows("nll", table), "nll")
    assert over_data_sets(values, "x", values, "erm").mean == 2.0


def test_wins_follow_the_direction_of_the_metric_and_ties_are_half() -> None:
    table = {("a", "x"): [0.1, 0.3], ("a", "erm"): [0.2, 0.3]}
    lower, higher = Values(rows("nll", table), "nll"), Values(rows("accuracy", table), "accuracy")
    assert win_rate(lower, "x", lower, "erm").mean == 0.75
    assert win_rate(higher, "x", higher, "erm").mean == 0.25


def test_ranks_and_the_critical_difference_of_nemenyi() -> None:
    """Demšar (2006): five classifiers at the 5 % level have q = 2.728."""
    random = np.random.default_rng(0)
    names = ["a", "b", "c", "d", "e"]
    table = {
        (f"set{n}", name): [float(k + 0.1 * random.random())]
        for n in range(10)
        for k, name in enumerate(names)
    }
    found = ranking(Values(rows("ts_nll", table), "ts_nll"), names)
    assert found is not None
    assert list(found.ranks.values()) == [1, 2, 3, 4, 5]
    assert found.critical_difference == pytest.approx(2.728 * np.sqrt(5 * 6 / (6 * 10)), abs=1e-3)
    assert found.friedman_p < 1e-6


def test_runs_without_the_metric_do_not_count() -> None:
    given = rows("nll", {("a", "x"): [1.0]})
    given.append({**given[0], "seed": "1", "nll": ""})
    assert Values(given, "nll").seeds("a", "x") == {0: 1.0}


@pytest.mark.parametrize("sets", [9, 10])
def test_ten_data_sets_have_the_t_interval_over_them(sets: int) -> None:
    """With fewer, that of the seeds: here all alike, so that it is a point."""
    differences = np.random.default_rng(0).normal(size=sets)
    table = {(f"{n}", "x"): [float(d)] * 2 for n, d in enumerate(differences)}
    table |= {(f"{n}", "erm"): [0.0, 0.0] for n in range(sets)}
    values = Values(rows("nll", table), "nll")
    found = over_data_sets(values, "x", values, "erm")
    peer = stats.ttest_1samp(differences, 0).confidence_interval(0.95)
    low, high = (peer.low, peer.high) if sets == 10 else (differences.mean(),) * 2
    assert (found.mean, found.low, found.high) == pytest.approx((differences.mean(), low, high))


def test_errors_in_the_unit_of_their_targets_are_compared_as_shares() -> None:
    """A tenth more on both tables is log 1.1, whatever their units."""
    rows = [
        {"data": data, "row": row, "seed": "0", "rmse": str(unit * factor)}
        for data, unit in (("metres", 1.0), ("millimetres", 1000.0))
        for row, factor in (("erm", 1.0), ("mixup", 1.1))
    ]
    values = comparable(rows, "rmse")
    assert over_data_sets(values, "mixup", values, "erm").mean == pytest.approx(math.log(1.1))


def test_a_row_on_few_data_sets_takes_no_ranks_from_the_others() -> None:
    """Twelve data sets of three rows, one of the baseline alone, and a row that has been run on three."""
    study = read_study("tables")
    order = {"erm": 2.0, "mixup": 1.0, "sk-mixup": 3.0}
    rows = [
        {"data": f"set {k}", "row": name, "seed": "0", "ts_nll": str(value)}
        for k in range(12)
        for name, value in order.items()
    ]
    alone = ranked(study, rows, "ts_nll")
    assert alone is not None
    assert alone.ranks == order
    more = [{"data": f"set {k}", "row": "ls", "seed": "0", "ts_nll": "0"} for k in range(3)]
    more.append({"data": "set 12", "row": "erm", "seed": "0", "ts_nll": "0"})
    assert ranked(study, rows + more, "ts_nll") == alone


def test_equal_differences_decide_nothing() -> None:
    assert not paired({0: 1.0, 1: 2.0}, {0: 0.5, 1: 1.5}).decided
    assert paired({0: 1.0, 1: 2.0, 2: 3.0}, {0: 0.5, 1: 1.5, 2: 2.4}).decided
