"""From values over seeds to a results file: numbers beside the paper's, ranks, tests, and later seeds."""

from pathlib import Path

import pytest
from scipy import stats

from small_table import write_table
from tailormix.paper.results import (
    Measured,
    SeedValues,
    number_at,
    read_results,
    stored_values,
    table_results,
    write_results,
)
from tailormix.paper.tables import Table, read_table

ERM = {0: 80.0, 1: 82.0, 2: 81.0}
MIXUP = {0: 83.0, 1: 84.0, 2: 86.0}


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return read_table(write_table(tmp_path))


def measured() -> Measured:
    return {
        ("plain", "erm"): SeedValues("a", {"accuracy": ERM, "ece": {0: 4.0}}, ("abc",), {"torch": ("2.13",)}),
        ("plain", "mixup-half"): SeedValues("b", {"accuracy": MIXUP}),
    }


def test_numbers_beside_the_papers(table: Table) -> None:
    """ERM: mean 81, std 1, paper 80 ± 2, 3 runs each; standard error √(1/3 + 4/3) = 1.291: 0.7746 of them."""
    results = table_results(table, measured(), "paper", "paper")
    assert [setting["name"] for setting in results["settings"]] == ["plain"]
    rows = {row["name"]: row for row in results["settings"][0]["rows"]}
    assert list(rows) == ["erm", "mixup-half", "others"]
    erm, mixup, others = (rows[name]["cells"] for name in rows)
    values = {"0": 80.0, "1": 82.0, "2": 81.0}
    assert erm["accuracy"]["ours"] == {"values": values, "n": 3, "mean": 81.0, "std": 1.0, "place": 2}
    assert erm["accuracy"]["standard_errors"] == pytest.approx(0.774597, abs=1e-6)
    assert erm["accuracy"]["paper"] == {"mean": 80.0, "std": 2.0, "place": 2}
    assert (mixup["accuracy"]["ours"]["place"], mixup["accuracy"]["paper"]["place"]) == (1, 1)
    assert others["accuracy"] == {"paper": {"mean": 85.0, "std": None, "place": 1}}  # ranked apart
    assert results["settings"][0]["baselines"] == {"erm": "erm", "mixup": "mixup-half"}
    test = mixup["accuracy"]["against"]["erm"]
    expected = stats.ttest_rel(list(MIXUP.values()), list(ERM.values())).pvalue
    assert test["p"] == pytest.approx(expected)
    assert test["p_holm"] == pytest.approx(expected)  # one row tested against ERM
    assert test["difference"] == pytest.approx(10 / 3)
    assert "erm" not in erm["accuracy"]["against"]
    assert erm["ece"]["standard_errors"] is None  # one seed, and no deviation in the paper
    assert results["commits"] == ["abc"]
    assert results["versions"] == {"torch": ["2.13"]}


def test_a_small_budget_never_shows_the_papers_numbers(table: Table) -> None:
    results = table_results(table, measured(), "small", "paper")
    assert '"paper":' not in repr(results["settings"]).replace("'", '"')
    assert [row["name"] for row in results["settings"][0]["rows"]] == ["erm", "mixup-half"]


def test_numbers_that_are_none() -> None:
    result = {"a": {"b": float("nan"), "c": True, "after temperature": {"ece": 1}}}
    assert [number_at(result, path) for path in ("a.b", "a.c", "a.d", "a", "a.b.c")] == [None] * 5
    assert number_at(result, "a.after temperature.ece") == 1.0


def test_results_grow_by_seeds_and_are_replaced_by_other_settings(table: Table, tmp_path: Path) -> None:
    path = write_results(table_results(table, measured(), "paper", "paper"), tmp_path / "made.json")
    kept = stored_values(read_results(path))
    assert kept["plain", "erm"].values == {"accuracy": ERM, "ece": {0: 4.0}}
    more = SeedValues("a", {"accuracy": {2: 0.5, 3: 1.5}}, ("def",))
    both = kept["plain", "erm"].updated(more)
    assert both.values["accuracy"] == {0: 80.0, 1: 82.0, 2: 0.5, 3: 1.5}
    assert both.commits == ("abc", "def")
    other = SeedValues("c", {"accuracy": {0: 1.0}})
    assert kept["plain", "erm"].updated(other) is other
    path.write_text("{}")
    with pytest.raises(ValueError, match="must be a results file of schema 1"):
        read_results(path)
