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


def unfinished(path: Path) -> None:
    (path / "result.json").unlink()


def no_record(path: Path) -> None:
    (path / "experiment.json").unlink()


def torn(path: Path) -> None:
    (path / "result.json").write_text('{"seed": 0, "te')


def a_list(path: Path) -> None:
    (path / "experiment.json").write_text("[]")


def no_model(path: Path) -> None:
    (path / "experiment.json").write_text('{"experiment": {"data": {"name": "digits"}}}')


def no_test(path: Path) -> None:
    change(path, test=None)


def no_predictions(path: Path) -> None:
    (path / "predictions.npz").unlink()


def bad_predictions(path: Path) -> None:
    (path / "predictions.npz").write_bytes(b"no archive")


def other_task(path: Path) -> None:
    np.savez(path / "predictions.npz", mean=np.zeros(3), std=np.ones(3), targets=np.zeros(3))


def bad_history(path: Path) -> None:
    (path / "metrics.jsonl").write_text('{"epoch": 1\n')


def odd_history(path: Path) -> None:
    (path / "metrics.jsonl").write_text('{"epoch": 1}\n')


def no_temperature(path: Path) -> None:
    change(path, temperature=None)


def odd_seed(path: Path) -> None:
    change(path, seed={})


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (unfinished, "unfinished: 3 of 3 epochs"),
        (no_record, "there is no experiment.json"),
        (torn, "is not JSON"),
        (a_list, "must hold a JSON object, got list"),
        (no_model, "experiment.json has no name of the model"),
        (no_test, "result.json has no 'test'"),
        (no_predictions, "No such file"),
        (bad_predictions, "cannot read"),
        (other_task, "holds a regression, not a classification"),
        (bad_history, "metrics.jsonl is not JSON"),
        (odd_history, "without epoch, loss or seconds"),
        (no_temperature, "'temperature' is missing"),
        (odd_seed, "must be a string, a bytes-like object or a real number"),
    ],
)
def test_a_bad_run_is_named_and_left_out(harm, said: str, tmp_path: Path) -> None:
    good, bad = make_run(tmp_path / "good"), make_run(tmp_path / "bad", seed=1)
    harm(bad)
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
