"""Finding and reading run folders: at any depth, each once, and what is wrong with the others."""

from pathlib import Path

import numpy as np
import pytest
import torch

from support_runs import change, make_run
from tailormix.calibration.predictions import load_predictions
from tailormix.metrics import ece
from tailormix.reports.runs import find_runs, read_run, read_runs


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
    assert run.spread is not None
    assert run.spread.std.shape == (200, 1)


NO_MODEL = '{"experiment": {"data": {"name": "digits"}}}'


@pytest.mark.parametrize(
    ("file", "contents", "said"),
    [
        ("result.json", None, "unfinished: 3 of 3 epochs"),
        ("experiment.json", None, "there is no experiment.json"),
        ("result.json", '{"seed": 0, "te', "is not JSON"),
        ("experiment.json", "[]", "must hold a JSON object, got list"),
        ("experiment.json", NO_MODEL, "experiment.json has no name of the model"),
        ("result.json", {"test": None}, "result.json has no 'test'"),
        ("predictions.npz", None, "No such file"),
        ("predictions.npz", "no archive", "cannot read"),
        ("metrics.jsonl", '{"epoch": 1\n', "metrics.jsonl is not JSON"),
        ("metrics.jsonl", '{"epoch": 1}\n', "without epoch, loss or seconds"),
        ("result.json", {"temperature": None}, "'temperature' is missing"),
        ("result.json", {"seed": {}}, "must be a string, a bytes-like object or a real number"),
        ("predictions.npz", np.zeros(3), "holds a regression, not a classification"),
    ],
)
def test_a_bad_run_is_named_and_left_out(file: str, contents, said: str, tmp_path: Path) -> None:
    """A file without contents is removed, a dictionary changes the result, an array is a regression."""
    good, bad = make_run(tmp_path / "good"), make_run(tmp_path / "bad", seed=1)
    if contents is None:
        (bad / file).unlink()
    elif isinstance(contents, dict):
        change(bad, **contents)
    elif isinstance(contents, str):
        (bad / file).write_text(contents)
    else:
        np.savez(bad / file, mean=contents, std=contents + 1, targets=contents)
    runs, skipped = read_runs([tmp_path])
    assert [run.path for run in runs] == [good]
    assert [one.path for one in skipped] == [bad]
    assert said in skipped[0].reason


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
