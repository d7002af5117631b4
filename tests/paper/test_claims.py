"""Claims: every comparison names cells that exist, and verdicts follow from numbers."""

from typing import Any

import pytest

from helpers import ROOT
from tailormix.paper.claims import evaluate_claim, read_claims
from tailormix.paper.results import read_all_results
from tailormix.paper.tables import Table, read_table
from tailormix.studies.raw import read_csv
from tailormix.studies.study import STUDIES, read_study
from tailormix.studies.summary import as_results

RESULTS = ROOT / "docs" / "results"
CLAIMS = read_claims()
UNDECIDED = "not decided by these runs"


def table_of(results: str) -> Table:
    return read_table(results.removesuffix("-released").removesuffix("-small"))


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim["claim"])
def test_comparisons_speak_of_cells_that_exist(claim: dict[str, Any]) -> None:
    for one in claim["compare"]:
        if one["results"] in STUDIES:
            study = read_study(one["results"])
            assert one["setting"] in study.data
            assert {one["row"], one["than"]} <= set(study.rows)
            assert one["column"] in read_csv(RESULTS / f"{study.name}.csv")[0]
            continue
        table = table_of(one["results"])
        if "fact" in one:
            assert table.figure
            continue
        assert one["column"] in {column.name for column in table.columns}
        for row in (one["row"], one.get("than", one["row"])):
            assert table.row(row).runs_in(one["setting"])


def cell(values: dict[str, float], **more: Any) -> dict[str, Any]:
    return {"ours": {"values": values, "mean": sum(values.values()) / len(values)}, **more}


def results() -> dict[str, Any]:
    """Row b is one below a at every seed, more or less; c is a with its seeds turned round."""
    a, b = {"0": 5.0, "1": 6.0, "2": 7.0}, {"0": 4.0, "1": 5.1, "2": 5.9}
    rows = {"a": a, "b": b, "c": {"0": 7.0, "1": 6.0, "2": 5.0}}
    far = {"a": 2.0, "b": -2.1, "c": None}
    cells = {
        name: cell(values, paper={"mean": 5.0}, standard_errors=far[name]) for name, values in rows.items()
    }
    setting = {
        "name": "s",
        "columns": [{"name": "e", "title": "E", "better": "lower", "digits": 1}],
        "rows": [{"name": name, "cells": {"e": one}} for name, one in cells.items()],
    }
    facts = {"bound": {"failures": 3}, "often": {"a": 0.6, "b": 0.4}}
    return {"made": {"settings": [setting], "facts": facts}}


def verdicts(*compare: dict[str, Any]) -> tuple[list[str], str]:
    given = [{"results": "made", "setting": "s", "column": "e", "expect": "better", **one} for one in compare]
    found = evaluate_claim({"claim": "x", "paper": "y", "compare": given}, results())
    return [one["verdict"] for one in found["compared"]], found["verdict"]


def test_facts_are_compared_with_bounds_and_with_one_another() -> None:
    """3 failures: at least 2 holds, at most 2 does not; 3 less 3 is 0; what is not there was not run."""
    fact = ["bound", "failures"]
    assert verdicts({"fact": fact, "at_least": 2}, {"fact": fact, "at_most": 2})[0] == ["agrees", "disagrees"]
    assert verdicts({"fact": fact, "minus": fact, "at_least": 0})[0] == ["agrees"]
    assert verdicts({"fact": fact, "minus": fact, "at_least": 1})[0] == ["disagrees"]
    assert verdicts({"fact": fact, "minus": ["bound", "none"], "at_least": 0})[0] == ["not run"]
    assert verdicts({"fact": ["bound", "none"], "at_most": 2}) == (["not run"], "not run")


def test_frequencies_must_differ_by_more_than_chance() -> None:
    """0.6 and 0.4 of 100 cases: z = 2.89, p = 0.004; of 20 cases z = 1.29, p = 0.20."""
    ab, ba = ({"fact": ["often", x], "minus": ["often", y], "at_least": 0} for x, y in ("ab", "ba"))
    assert verdicts({**ab, "of": 100})[0] == ["agrees"]
    assert verdicts({**ba, "of": 100})[0] == ["disagrees"]
    assert verdicts({**ab, "of": 20})[0] == [UNDECIDED]
    assert verdicts({**ab, "minus": ["often", "z"], "of": 20})[0] == ["not run"]


def test_facts_of_the_claims_are_among_the_committed_results() -> None:
    results = read_all_results(RESULTS)
    for claim in (claim for claim in CLAIMS if any("fact" in one for one in claim["compare"])):
        assert all(one["value"] is not None for one in evaluate_claim(claim, results)["compared"])


def test_verdicts_follow_from_differences_and_p_values() -> None:
    """B - a = -1, -0.9, -1.1: t = -1·√3/0.1 = -17.3, p = 0.0033 (two degrees of freedom)."""
    assert verdicts({"row": "b", "than": "a"}) == (["agrees"], "agrees")
    assert verdicts({"row": "a", "than": "b"}) == (["disagrees"], "disagrees")
    assert verdicts({"row": "a", "than": "b", "expect": "worse"}) == (["agrees"], "agrees")
    assert verdicts({"row": "b", "than": "c"}) == ([UNDECIDED], UNDECIDED)
    assert verdicts({"row": "b", "than": "a", "results": "other"}) == (["not run"], "not run")
    near = {"expect": "near the paper"}
    found = verdicts({"row": "a", **near}, {"row": "b", **near}, {"row": "c", **near})[0]
    assert found == ["agrees", "disagrees", "not run"]


def test_a_study_decides_by_its_chosen_runs() -> None:
    """B - a = -10, -9, -11 points of ECE, as above; the candidate that was not chosen takes no part."""
    found = {"a": ("0.50", "0.60", "0.70"), "b": ("0.40", "0.51", "0.59")}
    rows = [
        {"data": "s", "row": row, "seed": str(seed), "ece": value}
        for row, values in found.items()
        for seed, value in enumerate(values)
    ]
    other = {"data": "s", "row": "b", "seed": "0", "ece": ""}
    one = {"results": "made", "setting": "s", "row": "b", "than": "a", "column": "ece", "expect": "better"}
    results = {"made": as_results([*rows, other])}
    claim = evaluate_claim({"claim": "x", "paper": "y", "compare": [one]}, results)
    assert claim["verdict"] == "agrees"
    assert claim["compared"][0]["difference"] == pytest.approx(-10)
    assert evaluate_claim({"claim": "x", "paper": "y", "compare": []}, results)["verdict"] == "not run"


@pytest.mark.parametrize(
    ("margin", "verdict"),
    [(1.2, "agrees"), (1.1, UNDECIDED), (1.0, UNDECIDED), (0.9, UNDECIDED), (0.8, "disagrees")],
)
def test_equal_needs_a_difference_that_is_shown_to_be_below_the_margin(margin: float, verdict: str) -> None:
    """B - a = -1 ± 0.1, standard error 0.0577, 95 % point of t with two degrees of freedom 2.92: ± 0.169."""
    assert verdicts({"row": "b", "than": "a", "expect": "equal", "margin": margin})[0] == [verdict]


def test_no_difference_that_is_seen_is_not_equality() -> None:
    """A - c = -2, 0, 2: p = 1 of any difference, and an interval of ± 3.4 that no margin of 1 can hold."""
    assert verdicts({"row": "a", "than": "c", "expect": "equal", "margin": 1.0})[0] == [UNDECIDED]
    assert verdicts({"row": "a", "than": "c", "expect": "equal", "margin": 4.0})[0] == ["agrees"]


def test_several_comparisons_are_counted() -> None:
    agrees, disagrees, undecided, missing = (
        {"row": row, "than": than} for row, than in (("b", "a"), ("a", "b"), ("b", "c"), ("b", "z"))
    )
    assert verdicts(agrees, disagrees)[1] == "agrees in 1 of 2, disagrees in 1"
    assert verdicts(agrees, agrees, undecided)[1] == "agrees in 2 of 3, not decided in 1"
    assert verdicts(undecided, missing)[1] == "not decided in 1 of 2, not run in 1"


def test_p_values_of_a_claim_are_corrected_for_their_number() -> None:
    """B against a has p = 0.0033: three times that is below 0.05, sixteen times is not."""
    one = {"row": "b", "than": "a"}
    assert set(verdicts(*[one] * 3)[0]) == {"agrees"}
    assert set(verdicts(*[one] * 16)[0]) == {UNDECIDED}
