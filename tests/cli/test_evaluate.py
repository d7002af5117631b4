"""The command: table, JSON, page, diagrams, exit codes."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cli.calling import call
from support_calibration import gaussian, split
from support_metrics import classifier
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
    wanted = ["--html", files / "r.html", "--diagrams", files / "pictures"]
    result = call("evaluate", files / "test.npz", *wanted, *QUICK)
    assert result.exit_code == 0, result.output
    told = f"page written: {files / 'r.html'}\ndiagrams written: {files / 'pictures'}\n"
    assert result.stdout.endswith(told)
    machine = call("evaluate", files / "test.npz", *wanted, *QUICK, "--json")
    assert (json.loads(machine.stdout)["samples"], machine.stderr.endswith(told)) == (200, True)
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


@pytest.mark.parametrize("package", ["matplotlib", "jinja2"])
def test_a_page_without_its_packages_names_the_pip_line_before_any_work(
    package: str, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr("tailormix.reports.evaluation.evaluate", lambda *_, **__: pytest.fail("worked"))
    result = call("evaluate", files / "test.npz", "--html", files / "r.html")
    assert result.exit_code == 2
    assert result.stderr == f'error: the package {package} is missing: pip install "tailormix[reports]"\n'


def test_an_infinite_nll_is_told_in_one_line(tmp_path: Path) -> None:
    logits = np.zeros((4, 2), np.float32)
    logits[2] = 3e38, -3e38
    np.savez(tmp_path / "p.npz", logits=logits, targets=np.ones(4, int))
    told = "NLL is infinite: row 2 gives its class the probability 0"
    table = call("evaluate", tmp_path / "p.npz", "--html", tmp_path / "r.html", *QUICK)
    assert (table.exit_code, told in table.stdout) == (0, True)
    assert told in (tmp_path / "r.html").read_text()
    found = json.loads(call("evaluate", tmp_path / "p.npz", *QUICK, "--json").stdout)
    assert (found["before"]["nll"]["value"], found["notes"]) == (None, [told])


def test_a_leak_is_wrong_use_and_writes_nothing(files: Path) -> None:
    result = call(
        "evaluate", files / "val.npz", "--calibration", files / "test.npz", "--html", files / "r.html", *QUICK
    )
    assert result.exit_code == 2
    assert result.stderr.startswith("error: cannot fit on split 'test'")
    assert not (files / "r.html").exists()
    result = call("evaluate", files / "val.npz", "--calibration", files / "val.npz", *QUICK)
    assert (result.exit_code, "200 of these 200 points" in result.stderr) == (2, True)


def test_the_named_way_round_is_shown(files: Path) -> None:
    imitate = ["--calibration", files / "test.npz", "--imitate", "released-protocol"]
    arguments = ["evaluate", files / "test.npz", *imitate, *QUICK]
    assert "imitates released-protocol" in call(*arguments).stdout
    assert json.loads(call(*arguments, "--json").stdout)["imitates"] == "released-protocol"


@pytest.mark.parametrize(
    ("arrays", "told"),
    [
        ({"probabilities": np.full((3, 2), 0.9)}, "rows of predictions must be probabilities"),
        ({"logits": np.array([["a", "b"]] * 3)}, "predictions must hold numbers, got an array of <U1"),
        ({"logits": np.float32(1)}, "logits must have one row per sample, got the single value 1.0"),
        ({"logits": np.eye(3), "targets": np.array(list("abc"))}, "targets must hold numbers"),
        (
            {"logits": np.eye(3), "split": np.array([], str)},
            "must be one name, like 'test', got an empty array",
        ),
        ({"logits": np.eye(3), "split": ""}, "must be one name, like 'test', got ''"),
        ({"logits": np.eye(3), "split": ["a", "a", "b"]}, "must be one name, like 'test', got 'a' and 'b'"),
        ({"logits": np.eye(3), "split": 3}, "must be one name, like 'test', got 3"),
    ],
)
def test_bad_content_is_one_line(arrays: dict[str, Any], told: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "bad.npz", **({"targets": np.array([0, 1, 0])} | arrays))
    result = call("evaluate", tmp_path / "bad.npz", *QUICK)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert told in result.stderr


def test_a_failing_page_keeps_the_old_one(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (files / "r.html").write_text("old")

    def fail(_: object) -> str:
        raise OSError("disk full")

    monkeypatch.setattr("tailormix.reports.pages.page_svg", fail)
    result = call("evaluate", files / "test.npz", "--html", files / "r.html", *QUICK)
    assert (result.exit_code, "error: disk full" in result.stderr) == (1, True)
    assert (files / "r.html").read_text() == "old"


def test_an_ensemble_of_runs_is_averaged_and_calibrated_on_their_validation_rows(tmp_path: Path) -> None:
    logits, targets = classifier(200, 3, seed=0)
    for k in range(2):
        noisy = logits + torch.randn(logits.shape, generator=torch.Generator().manual_seed(k))
        for name, rows in (("predictions.npz", slice(100)), ("validation.npz", slice(100, 200))):
            split = "test" if name == "predictions.npz" else "validation"
            ids = torch.arange(200)[rows]
            member = Predictions(logits=noisy[rows], targets=targets[rows], ids=ids, split=split)
            (tmp_path / f"seed-{k}").mkdir(exist_ok=True)
            save_predictions(tmp_path / f"seed-{k}" / name, member)
    folders = [str(tmp_path / f"seed-{k}") for k in range(2)]
    done = call("evaluate", *folders, "--ensemble", "--json", "--resamples", "0")
    found = json.loads(done.stdout)
    assert found["calibration"]["fitted_on"]["split"] == "validation"
    assert any("two of them name different classes" in note for note in found["notes"])
    alone = [json.loads(call("evaluate", folder, "--json", "--resamples", "0").stdout) for folder in folders]
    values = [each["before"]["nll"]["value"] for each in (found, *alone)]
    assert values[0] <= (values[1] + values[2]) / 2
    assert call("evaluate", *folders).exit_code == 2


def test_an_ensemble_of_regressions_is_a_mixture_of_gaussians(tmp_path: Path) -> None:
    """With equal spreads its NLL is never above its members' mean: log(1 + d/σ²) ≤ d/σ², row by row."""
    random = torch.Generator().manual_seed(0)
    targets = torch.randn(200, generator=random)
    folders = [str(tmp_path / f"seed-{k}") for k in range(3)]
    for folder in folders:
        mean = targets + torch.randn(200, generator=random)
        Path(folder).mkdir()
        for name, part, rows in (
            ("predictions.npz", "test", slice(100)),
            ("validation.npz", "validation", slice(100, 200)),
        ):
            ids = torch.arange(200)[rows]
            member = Predictions(
                mean=mean[rows], std=torch.full((100,), 0.7), targets=targets[rows], ids=ids, split=part
            )
            save_predictions(Path(folder) / name, member)
    found = json.loads(call("evaluate", *folders, "--ensemble", "--json", "--resamples", "0").stdout)
    assert found["calibration"]["fitted_on"]["split"] == "validation"
    alone = [json.loads(call("evaluate", folder, "--json", "--resamples", "0").stdout) for folder in folders]
    together, *single = (each["before"]["gaussian_nll"]["value"] for each in (found, *alone))
    assert together < sum(single) / 3
