"""The page of many runs as text: complete, escaped, the same every time, and nothing from elsewhere."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from support_runs import change, make_run
from tailormix.calibration import VarianceScaling
from tailormix.calibration.predictions import Predictions, load_predictions, save_predictions
from tailormix.reports.runs.groups import problems_of
from tailormix.reports.runs.reading import Skipped, read_runs
from tailormix.reports.runs.report_page import Section, report_page
from tailormix.reports.runs.run_figures import learning_curves, observed_coverage


def page_of(folder: Path, **options) -> str:
    return report_page(problems_of(read_runs([folder])[0]), **options)


def test_page_is_complete_and_self_contained(tmp_path: Path) -> None:
    for method in ("erm", "sk-mixup"):
        for seed in range(2):
            make_run(tmp_path / method / f"seed-{seed}", method, seed)
    text = page_of(tmp_path)
    assert text.startswith("<!doctype html>")
    labels = re.findall(r'role="img" aria-label="([^"]*)"', text)
    assert len(labels) == 4 + 4 + 1  # reliability, curves, one law
    assert all(len(label) > 20 for label in labels)
    for part in (
        "Learning curves",
        "What it costs",
        "Settings of Digits, MLP",
        "Class by class",
        "What SK Mixup takes for what",
        "ERM</b> too sure: ",
        "0123abc",
        "d̄",
        "± ",
    ):
        assert part in text
    assert not re.findall(r'(?:src|href)="(?!#|data:)', text.replace("xlink:href", "href"))
    for outside in ("http://", "https://", "@import", "url(//"):
        assert outside not in re.sub(r"xmlns(:xlink)?=\"[^\"]*\"", "", text)
    assert text == page_of(tmp_path)


def test_a_strength_that_sets_itself_has_a_curve(tmp_path: Path) -> None:
    make_run(tmp_path / "fixed", "mixup")
    assert "Strength of mixing" not in page_of(tmp_path)
    path = make_run(tmp_path / "auto", {"name": "sk-mixup", "tau_max": "auto"})
    rows = [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]
    steered = [{**row, "strength": 0.1**k} for k, row in enumerate(rows)]
    (path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in steered))
    assert "Strength of mixing on Digits, MLP against the epoch" in page_of(tmp_path)
    fixed, auto = sorted(problems_of(read_runs([tmp_path])[0])[0].groups, key=lambda group: group.label)
    assert learning_curves(auto, "strength")[1].tolist() == [[1.0, 0.1, 0.1**2]]
    assert np.isnan(learning_curves(fixed, "strength")[1]).all()


def test_what_comes_from_outside_is_escaped(tmp_path: Path) -> None:
    make_run(tmp_path / "<b>", {"name": "mixup", "alpha": 0.5}, loss={"name": "<script>alert(1)</script>"})
    skipped = [Skipped(Path("<i>"), "broken <u>")]
    runs, _ = read_runs([tmp_path])
    text = report_page(problems_of(runs), skipped, title="a <b> & c")
    assert "a &lt;b&gt; &amp; c" in text
    assert "&lt;script&gt;alert(1)" in text
    assert "broken &lt;u&gt;" in text
    for raw in ("<script>alert", "<u>", "<i>"):
        assert raw not in text


def test_regression_shows_spread_and_coverage(tmp_path: Path) -> None:
    for seed in range(2):
        make_run(tmp_path / str(seed), {"name": "c-mixup"}, seed, task="regression")
    text = page_of(tmp_path)
    assert "Is the predicted spread right?" in text
    assert "Share of targets inside the predicted intervals" in text
    assert "Is confidence deserved?" not in text
    assert "ENCE %" in text


def test_coverage_is_exact_where_the_spread_is(tmp_path: Path) -> None:
    """Targets have 1.3 times the spread of ``std``: scaled so, half of them lie inside the middle half."""
    make_run(tmp_path / "exact", scale=1.3, task="regression")
    make_run(tmp_path / "narrow", "mixup", scale=0.5, task="regression")
    exact, narrow = problems_of(read_runs([tmp_path])[0])[0].groups
    assert observed_coverage(exact)[24:26].mean() == pytest.approx(0.5, abs=0.1)
    assert observed_coverage(narrow)[24:26].mean() < 0.3


def test_a_regression_without_spread_shows_the_scaled_one(tmp_path: Path) -> None:
    """Without dropout nothing is predicted before scaling, and the error of validation after it."""
    path = make_run(tmp_path / "a", task="regression")
    test = load_predictions(path)
    test = Predictions(mean=test.mean, std=0 * test.std, targets=test.targets, split="test")
    save_predictions(path / "predictions.npz", test)
    VarianceScaling().fit(test.mean, test.std, test.targets).save(path / "calibrator.json")
    text = page_of(tmp_path)
    assert "After variance scaling: well calibrated" in text
    assert "Before: " not in text


def test_beyond_a_number_of_experiments_the_largest_are_drawn(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("tailormix.reports.runs.report_page.MOST_DRAWN", 1)
    make_run(tmp_path / "a", "erm")
    for seed in range(2):
        make_run(tmp_path / f"b{seed}", "mixup", seed)
    make_run(tmp_path / "c", "mixup", model={"name": "resnet8"})
    text = page_of(tmp_path)
    assert "Pictures show the 1 experiment with the most runs; tables show all 3." in text
    drawn = re.findall(r'aria-label="Reliability diagram of ([^,]*),', text)
    assert drawn == ["Mixup", "Mixup"]  # before and after
    assert text.count("<h3>Learning curves</h3>") == 1
    assert text.count("<h3>What it costs</h3>") == 2


def test_class_names_are_on_the_page_and_escaped(tmp_path: Path) -> None:
    make_run(tmp_path / "a", class_names=["<cat>", *"bcdefg"])
    text = page_of(tmp_path)
    assert text.count("&lt;cat&gt;") == 3  # recall, and row and column of the confusion matrix
    assert "<cat>" not in text


def test_without_validation_there_is_no_after(tmp_path: Path) -> None:
    path = make_run(tmp_path / "a")
    change(path, test={"before": {"accuracy": 0.5, "ece": 0.1, "nll": 1.0}}, temperature=None)
    text = page_of(tmp_path)
    assert "No temperature was fitted" in text
    assert "after T" not in text


def test_warnings_name_what_does_not_compare(tmp_path: Path) -> None:
    first = make_run(tmp_path / "a", seed=0)
    make_run(tmp_path / "b", "mixup", seed=1)
    fitted = {
        "value": 1.5,
        "status": "at upper bound",
        "note": "a sentence",
        "fitted on": {"imitates": "released-protocol"},
    }
    change(first, temperature=fitted)
    text = page_of(tmp_path)
    assert "not all run with the same seeds" in text
    assert "Imitates “released-protocol”" in text
    assert f"T is no inner minimum of the NLL (at upper bound) in {first}." in text


def test_sections_of_others_come_first(tmp_path: Path) -> None:
    make_run(tmp_path / "a")
    text = page_of(tmp_path, before=[Section("x", "Mine", "plain < text")])
    assert text.index('id="x"') < text.index('id="problem-1"')
    assert "plain &lt; text" in text
