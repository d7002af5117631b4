"""Finding and reading run folders: at any depth, each once, and what is wrong with the others."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from support_runs import change, make_run
from tailormix.calibration.predictions import load_predictions
from tailormix.metrics import ece
from tailormix.reports.runs.groups import problems_of
from tailormix.reports.runs.reading import find_runs, read_run, read_runs
from tailormix.reports.runs.report_page import report_page
from tailormix.reports.runs.run_tables import summary_json


def test_runs_are_found_at_any_depth_and_once(tmp_path: Path) -> None:
    deep = make_run(tmp_path / "b" / "c" / "d" / "seed-1", seed=1)
    near = make_run(tmp_path / "a", seed=0)
    (near / "checkpoints").mkdir()
    assert find_runs([tmp_path, deep, near]) == [near, deep]
    runs, skipped = read_runs([tmp_path, deep.parent])
    assert [run.seed for run in runs] == [0, 1]
    assert skipped == []


def test_points_are_those_of_the_predictions(tmp_path: Path) -> None:
    """The statistics give the ECE of the file, before and after the temperature of the result."""
    run = read_run(make_run(tmp_path / "run"))
    test = load_predictions(tmp_path / "run" / "predictions.npz")
    temperature = run.result["temperature"]["value"]
    for rows, scale in zip(run.rows, (1.0, temperature), strict=True):
        probabilities = (torch.as_tensor(test.logits) / scale).softmax(1)
        assert torch.allclose(rows.confidence, probabilities.amax(1))
        assert ece(probabilities, test.targets) == pytest.approx(
            run.result["test"]["before" if scale == 1 else "after temperature"]["ece"]
        )


def test_regression_has_a_spread(tmp_path: Path) -> None:
    run = read_run(make_run(tmp_path / "run", task="regression"))
    assert run.rows == ()
    before, after = run.spreads
    assert before.std.shape == (200, 1)
    assert torch.allclose(after.std, before.std * run.fitted["value"] ** 0.5)


def test_classes_have_the_names_of_the_run(tmp_path: Path) -> None:
    names = tuple("abcdefg")
    run = read_run(make_run(tmp_path / "named", class_names=names))
    assert [found.names for found in run.classes] == [names, names]
    numbered = read_run(make_run(tmp_path / "numbered", class_names=["one", "two"]))
    assert numbered.classes[0].names == tuple("0123456")
    assert int(run.classes[0].confusion.sum()) == 200


SPREAD = {"mean": np.zeros(3), "std": np.ones(3), "targets": np.zeros(3)}
NO_MODEL = '{"experiment": {"data": {"name": "digits"}}}'


@pytest.mark.parametrize(
    ("file", "contents", "said"),
    [
        ("result.json", None, "unfinished: 3 of 3 epochs"),
        ("experiment.json", None, "there is no experiment.json"),
        ("result.json", '{"seed": 0, "te', "is not JSON"),
        ("experiment.json", "[]", "must hold a JSON object, got list"),
        ("experiment.json", NO_MODEL, "experiment of experiment.json has no 'model'"),
        ("result.json", {"test": None}, "result.json has no 'test'"),
        ("predictions.npz", None, "no such file"),
        ("predictions.npz", "no archive", "not a zip file"),
        ("metrics.jsonl", '{"epoch": 1\n', "metrics.jsonl is not JSON"),
        ("metrics.jsonl", '{"epoch": 1}\n', "line 1 of metrics.jsonl has no 'loss'"),
        ("result.json", {"temperature": None}, "has no 'temperature', but metrics after temperature"),
        ("result.json", {"seed": {}}, "broken: seed of result.json must be a whole number, got {}"),
        (
            "result.json",
            {"temperature": {"value": "hot"}},
            "value of temperature of result.json must be a number",
        ),
        ("predictions.npz", SPREAD, "holds a regression, not a classification"),
        ("predictions.npz", {"logits": np.zeros((2, 2, 2)), "targets": np.zeros(2, int)}, "must have shape"),
        ("predictions.npz", {"logits": np.zeros((0, 2)), "targets": np.zeros(0, int)}, "at least one sample"),
        ("predictions.npz", {"logits": np.array([["a"]]), "targets": np.zeros(1, int)}, "must hold numbers"),
    ],
)
def test_a_bad_run_is_named_and_left_out(file: str, contents, said: str, tmp_path: Path) -> None:
    """A file without contents is removed; a dictionary changes the result, or holds the arrays."""
    good, bad = make_run(tmp_path / "good"), make_run(tmp_path / "bad", seed=1)
    if contents is None:
        (bad / file).unlink()
    elif isinstance(contents, str):
        (bad / file).write_text(contents)
    elif file == "result.json":
        change(bad, **contents)
    else:
        np.savez(bad / file, **contents)
    runs, skipped = read_runs([tmp_path])
    assert [run.path for run in runs] == [good]
    assert [one.path for one in skipped] == [bad]
    assert said in skipped[0].reason


ODD: tuple[Any, ...] = (None, {}, "x", 10**400)


def odd_versions(value: Any) -> Iterator[Any]:
    """Copies of a JSON value in which one part, at any depth, is something else."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from ({**value, key: other} for other in (*ODD, *odd_versions(part)))


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_no_wrong_type_anywhere_stops_the_report(task: str, tmp_path: Path, monkeypatch) -> None:
    """A run for every odd value at every place of its files: each is shown or named."""
    good = make_run(tmp_path / "good", task=task, seed=100_000)
    files = {name: (good / name).read_text() for name in ("result.json", "experiment.json", "metrics.jsonl")}
    number = 0
    for file, text in files.items():
        first, *rest = text.splitlines()
        for odd in odd_versions(json.loads(first)):
            number += 1
            bad = tmp_path / f"bad-{number}"
            bad.mkdir()
            for other in good.iterdir():
                if other.name not in files:
                    (bad / other.name).hardlink_to(other)
            changed = files | {file: "\n".join([json.dumps(odd), *rest])}
            changed["result.json"] = changed["result.json"].replace(
                "100000", str(number)
            )  # seeds of their own
            for name, contents in changed.items():
                (bad / name).write_text(contents)
    runs, skipped = read_runs([tmp_path])
    assert len(runs) + len(skipped) == number + 1
    assert len(skipped) > 0.3 * number
    assert good in [run.path for run in runs]
    monkeypatch.setattr("tailormix.reports.runs.report_page.MOST_DRAWN", 2)
    problems = problems_of(runs)
    assert "left out" in report_page(problems, skipped)
    json.dumps(summary_json(problems, skipped), allow_nan=False)


def test_a_copy_is_no_further_seed(tmp_path: Path) -> None:
    first, copy = make_run(tmp_path / "a"), make_run(tmp_path / "b")
    runs, skipped = read_runs([tmp_path])
    assert [run.path for run in runs] == [first]
    assert [(one.path, one.reason) for one in skipped] == [(copy, f"same experiment and seed as {first}")]


def test_places_without_runs_are_named(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    runs, skipped = read_runs([tmp_path / "empty", tmp_path / "file"])
    assert runs == []
    assert [one.reason for one in skipped] == ["no run in it", "no folder"]
