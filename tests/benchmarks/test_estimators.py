"""The page about the estimators: its tables are those of the scores."""

import json
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest
from benchmarks.__main__ import app
from benchmarks.estimators import CLASSIFIERS, MARKS, PLAIN, REGRESSORS, insert_tables
from typer.testing import CliRunner

from helpers import ROOT
from tailormix.integrations.sklearn import MixupClassifier, MixupRegressor
from tailormix.integrations.sklearn.options import REGRESSOR_ALPHA
from tailormix.studies.raw import read_csv

PAGE = ROOT / "docs" / "estimators.md"
SCORES = ROOT / "docs" / "estimators.json"


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    return json.loads(SCORES.read_text(encoding="utf-8"))


def differences(results: dict[str, Any], task: str, model: str, metric: str) -> list[float]:
    """The mean difference of a model from plain training on each data set."""
    found: dict[str, dict[bool, list[float]]] = {}
    for row in results["records"]:
        if row["task"] == task and row["model"] in (model, PLAIN):
            sides = found.setdefault(row["data"], {True: [], False: []})
            sides[row["model"] == PLAIN].append(row[metric])
    return [fmean(sides[False]) - fmean(sides[True]) for sides in found.values()]


def test_the_tables_are_those_of_the_scores(results: dict[str, Any]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert insert_tables(text, results) == text
    found = {(row["data"], row["model"], row["seed"]) for row in results["records"]}
    assert len(found) == len(results["records"])
    one, many = 16 * (len(CLASSIFIERS) - 1) + 8 * (len(REGRESSORS) - 1), 16 + 8  # members: one split alone
    assert len(found) == results["seeds"] * one + many
    with pytest.raises(ValueError, match="the page must hold each of"):
        insert_tables("no marks", results)


@pytest.mark.parametrize(
    ("task", "estimator", "metrics"),
    [
        ("classification", MixupClassifier, ("nll", "ece")),
        ("regression", MixupRegressor, ("rmse", "nll")),
    ],
)
def test_the_defaults_are_not_worse_than_plain_training(
    results: dict[str, Any], task: str, estimator: Any, metrics: tuple[str, ...]
) -> None:
    """The mean difference is at most two standard errors over data sets."""
    for metric in metrics:
        found = differences(results, task, f'method="{estimator().method}"', metric)
        assert fmean(found) <= 2 * stdev(found) / len(found) ** 0.5


def test_the_regressors_method_is_the_best_on_validation_rows_of_the_study() -> None:
    """Mean differences from plain training over tables, in NLL after variance scaling, on splits 0 to 7."""
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row in read_csv(ROOT / "docs" / "results" / "uci.csv"):
        if int(row["seed"]) < 8 and not row["row"].endswith("-ensemble"):
            tables = found.setdefault((row["row"], row["candidate"]), {})
            tables.setdefault(row["data"], []).append(float(row["validation_ts_nll"]))
    plain = found["erm", '{"optimiser.weight_decay": 0.01}']
    gains = {
        setting: [fmean(tables[data]) - fmean(plain[data]) for data in plain]
        for setting, tables in found.items()
    }
    means = {setting: fmean(values) for setting, values in gains.items()}
    best = "regmixup", json.dumps({"method.alpha": REGRESSOR_ALPHA})
    assert min(means, key=lambda setting: means[setting]) == best
    assert all(means[setting] > 0 for setting in means if setting != best and setting[0] != "erm")
    shown = f"by {-means[best]:.3f} ± {stdev(gains[best]) / 10**0.5:.3f} (standard error over tables)"
    assert shown in PAGE.read_text(encoding="utf-8")
    assert sum(gain < 0 for gain in gains[best]) == 9
    assert max(abs(means["erm", f'{{"optimiser.weight_decay": {decay}}}']) for decay in (0.001, 0.1)) < 0.0015


def test_differences_by_hand() -> None:
    """Two data sets with two splits: differences of +1 and +3, then -1 and -1."""
    values = {("a", 0): (1, 2), ("a", 1): (1, 4), ("b", 0): (5, 4), ("b", 1): (2, 1)}
    records = [
        {"task": "regression", "data": data, "seed": seed, "model": model, "rmse": value, "seconds": 1.0}
        for (data, seed), pair in values.items()
        for model, value in zip((PLAIN, 'method="sk-mixup"'), pair, strict=True)
    ]
    both = {"seeds": 2, "versions": {}, "records": records}
    both["records"] += [{**row, "task": "classification", "nll": 1.0, "chosen": "erm"} for row in records]
    text = insert_tables("\n".join(MARKS), both)
    assert '| `method="sk-mixup"` | 2.750 | +0.500 ± 1.500 | 1.0× |' in text
    assert "| a | 1.000 | +2.000 ± 1.000 |" in text
    assert '- `method="sk-mixup"`: worse on none; better on b.' in text


def test_the_benchmark_writes_scores_and_tables(tmp_path: Path) -> None:
    page, scores = tmp_path / "page.md", tmp_path / "scores.json"
    page.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    words = ["estimators", "--quick", "--seeds", "1", "--out", str(scores), "--page", str(page)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    found = json.loads(scores.read_text(encoding="utf-8"))["records"]
    assert {row["data"] for row in found} == {"iris", "diabetes"}
    assert all(0 <= row["accuracy"] <= 1 and row["nll"] > 0 for row in found if row["data"] == "iris")
    assert "1 splits of each data set" in page.read_text(encoding="utf-8")
