"""The page about the estimators: its tables are those of the scores."""

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from benchmarks.estimators import insert_tables

from helpers import ROOT, run_program

PAGE = ROOT / "docs" / "estimators.md"
SCORES = ROOT / "docs" / "estimators.json"
PEERS = ("MLPClassifier()", "RandomForestClassifier()", "MLPClassifier(), scaled inputs")


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    return json.loads(SCORES.read_text(encoding="utf-8"))


def average(results: dict[str, Any], model: str, metric: str) -> float:
    """Mean over data sets of the means over seeds: all data sets have as many seeds."""
    return fmean(row[metric] for row in results["records"] if row["model"] == model and metric in row)


def test_the_tables_are_those_of_the_scores(results: dict[str, Any]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert insert_tables(text, results) == text
    found = {(row["data"], row["model"], row["seed"]) for row in results["records"]}
    assert len(found) == len(results["records"]) == 5 * (4 * 4 + 3)
    with pytest.raises(ValueError, match="the page must hold each of"):
        insert_tables("no marks", results)


@pytest.mark.parametrize("peer", PEERS)
def test_classification_without_tuning(results: dict[str, Any], peer: str) -> None:
    """Lower NLL and ECE on average; accuracy not worse by more than half a point."""
    ours = 'MixupClassifier("sk-mixup")'
    assert average(results, ours, "nll") < average(results, peer, "nll")
    assert average(results, ours, "ece") < average(results, peer, "ece")
    assert average(results, ours, "accuracy") > average(results, peer, "accuracy") - 0.005


def test_regression_without_tuning(results: dict[str, Any]) -> None:
    """RMSE not worse, and coverage of 90 % intervals nearer to 0.9."""
    ours, peer = 'MixupRegressor("sk-mixup")', "MLPRegressor(), scaled inputs and targets"
    assert average(results, ours, "rmse") <= average(results, peer, "rmse")
    assert abs(average(results, ours, "coverage") - 0.9) < abs(average(results, peer, "coverage") - 0.9)


def test_the_benchmark_writes_scores_and_tables(tmp_path: Path) -> None:
    page, scores = tmp_path / "page.md", tmp_path / "scores.json"
    page.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    run_program(
        "-m", "benchmarks", "estimators", "--quick", "--seeds", "1", "--out", str(scores), "--page", str(page)
    )
    found = json.loads(scores.read_text(encoding="utf-8"))["records"]
    assert {row["data"] for row in found} == {"iris", "diabetes"}
    assert all(0 <= row["accuracy"] <= 1 and row["nll"] > 0 for row in found if row["data"] == "iris")
    assert "Means over 1 splits" in page.read_text(encoding="utf-8")
