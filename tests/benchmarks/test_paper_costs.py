"""The paper's columns and claims about cost."""

import json
from typing import Any

import pytest
from benchmarks.epochs import insert_section, section
from benchmarks.paper_costs import CLAIMS, agrees, check_claims, cost_page, paper_columns, paper_ratio

from helpers import ROOT


def test_times_are_ratios_within_a_data_set() -> None:
    """By hand, of Tables 6 and 17: SK Mixup 28 of 17 s on CIFAR-10, C-Mixup 46.51 of 11.16 s."""
    found = paper_columns("classification")
    assert (found["sk-mixup"]["batches"], found["mit-a"]["batches"]) == (1, 2)
    assert found["sk-mixup"]["time"]["cifar10"] == pytest.approx(28 / 17)
    assert paper_ratio("regression", "c-mixup", "sk-mixup") == pytest.approx(46.51 / 11.16)
    assert paper_ratio("classification", "rankmixup", "sk-mixup") == pytest.approx(2.81, abs=0.01)
    assert paper_ratio("classification", "erm", "sk-mixup") is None


def row(method: str, seconds: float, size: int) -> dict[str, Any]:
    return {"method": method, "seconds": seconds, "bytes": size}


def test_claims_are_checked_where_both_methods_were_measured() -> None:
    images = [row("mixup", 1.0, 10), row("sk-mixup", 1.4, 10), row("rankmixup", 2.8, 40)]
    found = {each["claim"]: each for each in check_claims({"classification": images, "regression": []})}
    assert list(found) == [
        "SK Mixup is about 3× faster than RankMixup",
        "SK Mixup holds a single batch, like Mixup",
        "RankMixup holds four times the data",
    ]
    slow = found["SK Mixup is about 3× faster than RankMixup"]
    assert (slow["claimed"], slow["measured"], slow["agrees"]) == (3.0, pytest.approx(2.0), False)
    assert slow["in the table"] == pytest.approx(2.81, abs=0.01)
    assert found["RankMixup holds four times the data"]["agrees"]


def test_about_has_two_sides_and_a_miss_is_explained() -> None:
    twice = next(claim for claim in CLAIMS if claim.kind == "about")
    assert [agrees(twice, measured) for measured in (1.5, 1.7, 2.4, 2.6)] == [False, True, True, False]
    for seconds, note in ((1.2, True), (4.1, False)):
        (claim,) = check_claims({"regression": [row("sk-mixup", 1.0, 1), row("c-mixup", seconds, 1)]})
        assert bool(claim["note"]) is note


def test_the_page_of_costs_is_that_of_the_committed_figures() -> None:
    found = json.loads((ROOT / "docs" / "costs.json").read_text(encoding="utf-8"))
    epochs = json.loads((ROOT / "docs" / "epochs.json").read_text(encoding="utf-8"))
    page = insert_section(cost_page(found), section(epochs["records"], epochs["settings"]))
    assert (ROOT / "docs" / "costs.md").read_text(encoding="utf-8") == page
    assert found["settings"]["quick"] is False
