"""Claims: every comparison names cells that exist, and verdicts follow from numbers."""

from pathlib import Path
from typing import Any

import pytest

from tailormix.paper.claims import evaluate_claim, read_claims
from tailormix.paper.results import read_all_results
from tailormix.paper.tables import Table, read_table

CLAIMS = read_claims()


def table_of(results: str) -> Table:
    return read_table(results.removesuffix("-released").removesuffix("-small"))


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim["claim"])
def test_comparisons_speak_of_cells_that_exist(claim: dict[str, Any]) -> None:
    assert claim["compare"]
    for one in claim["compare"]:
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
    cells = {name: cell(values, paper={"mean": 5.0}, difference=1.0) for name, values in rows.items()}
    setting = {
        "name": "s",
        "columns": [{"name": "e", "title": "E", "better": "lower", "digits": 1}],
        "rows": [{"name": name, "cells": {"e": one}} for name, one in cells.items()],
    }
    return {"made": {"settings": [setting], "facts": {"bound": {"failures": 3}}}}


def verdicts(*compare: dict[str, Any]) -> tuple[list[str], str]:
    given = [{"results": "made", "setting": "s", "column": "e", "expect": "better", **one} for one in compare]
    found = evaluate_claim({"claim": "x", "paper": "y", "compare": given}, results())
    return [one["verdict"] for one in found["compared"]], found["verdict"]


def test_facts_are_compared_with_bounds_and_with_one_another() -> None:
    """3 failures: at least 2 holds, at most 2 does not; 3 less 3 is 0; what is not there was not measured."""
    fact = ["bound", "failures"]
    assert verdicts({"fact": fact, "at_least": 2}, {"fact": fact, "at_most": 2})[0] == ["agrees", "disagrees"]
    assert verdicts({"fact": fact, "minus": fact, "at_least": 0})[0] == ["agrees"]
    assert verdicts({"fact": fact, "minus": fact, "at_least": 1})[0] == ["disagrees"]
    assert verdicts({"fact": fact, "minus": ["bound", "none"], "at_least": 0})[0] == ["not measured"]
    assert verdicts({"fact": ["bound", "none"], "at_most": 2}) == (["not measured"], "not measured")


def test_facts_of_the_claims_are_among_the_committed_results() -> None:
    folder = Path(__file__).parents[2] / "docs" / "results"
    results = read_all_results(folder)
    for claim in (claim for claim in CLAIMS if any("fact" in one for one in claim["compare"])):
        assert all(one["value"] is not None for one in evaluate_claim(claim, results)["compared"])


def test_verdicts_follow_from_differences_and_p_values() -> None:
    """B - a = -1, -0.9, -1.1: t = -1·√3/0.1 = -17.3, p = 0.0033 (two degrees of freedom)."""
    assert verdicts({"row": "b", "than": "a"}) == (["agrees"], "agrees")
    assert verdicts({"row": "a", "than": "b"}) == (["disagrees"], "disagrees")
    assert verdicts({"row": "a", "than": "b", "expect": "worse"}) == (["agrees"], "agrees")
    assert verdicts({"row": "a", "than": "b", "expect": "equal"}) == (["disagrees"], "disagrees")
    assert verdicts({"row": "a", "than": "c", "expect": "equal"}) == (["agrees"], "agrees")
    assert verdicts({"row": "b", "than": "c"}) == (["tends to agree"], "undecided")
    assert verdicts({"row": "b", "than": "a"}, {"row": "a", "than": "b"})[1] == "mixed"
    assert verdicts({"row": "b", "than": "a"}, {"row": "b", "than": "c"})[1] == "agrees in part"
    assert verdicts({"row": "b", "than": "a"}, {"row": "b", "than": "z"})[1] == "agrees where measured"
    assert verdicts({"row": "a", "expect": "near the paper"}) == (["agrees"], "agrees")
    assert verdicts({"row": "b", "than": "a", "results": "other"}) == (["not measured"], "not measured")
