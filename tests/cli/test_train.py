"""``tailormix train`` from outside: exit codes, resuming, and several runs of which one fails."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from tailormix.cli.train import train
from tailormix.experiments import parallel

app = typer.Typer()
app.command()(train)
QUICK = ["--set", "epochs=1", "--set", "batch=150", "--set", "accelerator=cpu"]


def call(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


def test_ranks_train_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of a second one would meet what those of the first have left in torchrun's store."""
    monkeypatch.setenv("WORLD_SIZE", "2")
    done = call("moons", *QUICK, "--seeds", "0-1", "--out", str(tmp_path))
    assert done.exit_code == 2
    assert "expected one seed, got 2" in " ".join(done.stderr.replace("│", " ").split())


def test_other_ranks_say_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call("moons", *QUICK, "--out", str(tmp_path))
    monkeypatch.setenv("RANK", "1")
    done = call("moons", *QUICK, "--out", str(tmp_path))
    assert (done.exit_code, done.stdout) == (0, "")


def test_one_run_prints_its_test_metrics(tmp_path: Path) -> None:
    done = call("moons", *QUICK, "--out", str(tmp_path))
    assert done.exit_code == 0, done.stderr
    assert "test after temperature: accuracy" in done.stdout
    assert "epoch 1/1" in done.stderr
    again = call("moons", *QUICK, "--out", str(tmp_path), "--json")
    found = json.loads(again.stdout)
    assert again.exit_code == 0
    assert found[0]["seed"] == 0
    assert Path(found[0]["run"]).parent.name.startswith("moons-")
    assert "epoch 1/1" not in again.stderr  # finished: not run again


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["moon"], "did you mean 'moons'"),
        (["moons", "--set", "epoch=1"], "did you mean 'epochs'"),
        (["moons", "--seeds", "x"], "seeds must be numbers and ranges"),
        (["moons", "--engine", "slurm"], "expected local"),
        (["moons", "--jobs", "0"], "greater than or equal to 1"),
    ],
)
def test_wrong_use_is_two(arguments: list[str], said: str, tmp_path: Path) -> None:
    done = call(*arguments, "--out", str(tmp_path))
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.replace("│", " ").split())
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_fails_is_one_with_one_line(tmp_path: Path) -> None:
    done = call("moons", *QUICK, "--set", "batch=1000", "--set", "drop_last=true", "--out", str(tmp_path))
    assert done.exit_code == 1
    assert "error: batch must be <= 300, the training rows, got 1000" in done.stderr
    assert "Traceback" not in done.stderr


def test_of_several_runs_one_that_fails_is_isolated(tmp_path: Path) -> None:
    """The folder of seed 1 holds a file where its checkpoints should be."""
    folder = json.loads(call("moons", *QUICK, "--out", str(tmp_path), "--json").stdout)[0]["run"]
    blocked = Path(folder).with_name("seed-1")
    blocked.mkdir()
    (blocked / "checkpoints").write_text("")
    done = call("moons", *QUICK, "--seeds", "0-2", "--jobs", "2", "--out", str(tmp_path), "--json")
    assert done.exit_code == 1
    assert [row["seed"] for row in json.loads(done.stdout)] == [0, 2]
    assert "again: tailormix train moons --set epochs=1" in done.stderr
    assert f"--seeds 1 --out {tmp_path}" in done.stderr
    assert "epoch 1/1" in (Path(folder).with_name("seed-2") / parallel.LOG).read_text()


@pytest.mark.parametrize("engine", ["ray", "dask"])
def test_an_engine_that_is_not_installed_says_so(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("ray", "ray.util.joblib", "distributed"):
        monkeypatch.setitem(sys.modules, module, None)
    done = call("moons", *QUICK, "--seeds", "0-1", "--engine", engine, "--out", str(tmp_path))
    assert done.exit_code == 2
    assert f"--engine {engine} needs the package" in " ".join(done.stderr.replace("│", " ").split())
