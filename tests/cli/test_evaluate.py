"""The command: table, JSON, page, diagrams, exit codes."""

import json
from pathlib import Path

import numpy as np
import pytest

from cli.calling import call
from support_calibration import gaussian, split
from tailormix.calibration.predictions import Predictions, save_predictions

QUICK = ["--resamples", "30"]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    save_predictions(tmp_path / "test.npz", split("test", ids=[f"t{i}" for i in range(200)], seed=1))
    save_predictions(tmp_path / "val.npz", split("val", ids=[f"v{i}" for i in range(200)]))
    return tmp_path


def test_table_and_json(files: Path) -> None:
    arguments = ["evaluate", files / "test.npz", "--calibration", files / "val.npz", *QUICK]
    table = call(*arguments)
    assert table.exit_code == 0, table.output
    assert table.stdout.startswith("Too sure: ")
    fitted = "fitted on 200 samples of val"
    for shown in ("Accuracy", "Class-wise ECE", "before", "after temperature", fitted):
        assert shown in table.stdout
    found = json.loads(call(*arguments, "--json").stdout)
    assert found["after"]["ece"]["value"] < found["before"]["ece"]["value"]
    assert found["before"]["accuracy"]["low"] <= found["before"]["accuracy"]["value"]
    assert found["calibration"]["fitted_on"]["samples"] == 200
    assert found["split"] == "test"


def test_a_temperature_that_rests_on_the_prior_is_told_everywhere(files: Path) -> None:
    easy = np.eye(4).repeat(30, 0) * 5
    save_predictions(files / "easy.npz", Predictions(logits=easy, targets=easy.argmax(1), split="val"))
    arguments = ["evaluate", files / "test.npz", "--calibration", files / "easy.npz", *QUICK]
    note = json.loads(call(*arguments, "--json").stdout)["calibration"]["note"]
    assert "rests on the prior around 1" in note
    table = call(*arguments, "--html", files / "r.html")
    assert note in " ".join(table.stdout.split())
    assert (files / "r.html").read_text().count(note) == 1


def test_page_and_diagrams(files: Path) -> None:
    result = call(
        "evaluate", files / "test.npz", "--html", files / "r.html", "--diagrams", files / "pictures", *QUICK
    )
    assert result.exit_code == 0, result.output
    assert "<svg" in (files / "r.html").read_text()
    names = sorted(path.name for path in (files / "pictures").iterdir())
    assert names == ["reliability.png", "reliability.svg", "risk-coverage.png", "risk-coverage.svg"]


def test_regression(tmp_path: Path) -> None:
    for name, seed in (("test", 0), ("val", 1)):
        mean, std, targets = gaussian(200, seed=seed)
        save_predictions(
            tmp_path / f"{name}.npz", Predictions(mean=mean, std=std, targets=targets, split=name)
        )
    result = call(
        "evaluate",
        tmp_path / "test.npz",
        "--calibration",
        tmp_path / "val.npz",
        "--html",
        tmp_path / "r.html",
        *QUICK,
    )
    assert result.exit_code == 0, result.output
    assert "after variance" in result.stdout
    assert "ENCE (as published)" in result.stdout
    assert "Observed against predicted error" in (tmp_path / "r.html").read_text()


def test_npy_pairs(tmp_path: Path) -> None:
    test = split("test", seed=1)
    np.save(tmp_path / "logits.npy", test.logits.numpy())
    np.save(tmp_path / "targets.npy", test.targets.numpy())
    for source in (tmp_path / "logits.npy", tmp_path):
        result = call("evaluate", source, "--split", "test", "--json", *QUICK)
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout)["split"] == "test"


def test_a_leak_fails_with_1_and_writes_nothing(files: Path) -> None:
    result = call(
        "evaluate", files / "val.npz", "--calibration", files / "test.npz", "--html", files / "r.html", *QUICK
    )
    assert result.exit_code == 1
    assert "error: cannot fit on split 'test'" in result.stderr
    assert not (files / "r.html").exists()
    result = call("evaluate", files / "val.npz", "--calibration", files / "val.npz", *QUICK)
    assert (result.exit_code, "200 of these 200 points" in result.stderr) == (1, True)


def test_the_named_way_round_is_shown(files: Path) -> None:
    imitate = ["--calibration", files / "test.npz", "--imitate", "released-protocol"]
    arguments = ["evaluate", files / "test.npz", *imitate, *QUICK]
    assert "imitates released-protocol" in call(*arguments).stdout
    assert json.loads(call(*arguments, "--json").stdout)["imitates"] == "released-protocol"


def test_bad_content_fails_with_1(tmp_path: Path) -> None:
    np.savez(tmp_path / "bad.npz", probabilities=np.full((3, 2), 0.9), targets=np.array([0, 1, 0]))
    result = call("evaluate", tmp_path / "bad.npz", *QUICK)
    assert result.exit_code == 1
    assert "rows of predictions must be probabilities" in result.stderr
    (tmp_path / "worse.npz").write_bytes(b"nonsense")
    assert call("evaluate", tmp_path / "worse.npz").exit_code == 1


def test_a_failing_page_keeps_the_old_one(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (files / "r.html").write_text("old")

    def fail(_: object) -> str:
        raise OSError("disk full")

    monkeypatch.setattr("tailormix.reports.pages.page_svg", fail)
    result = call("evaluate", files / "test.npz", "--html", files / "r.html", *QUICK)
    assert (result.exit_code, "error: disk full" in result.stderr) == (1, True)
    assert (files / "r.html").read_text() == "old"
