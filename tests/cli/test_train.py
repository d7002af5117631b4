"""``tailormix train`` from outside: exit codes, and what is finished is not run again."""

import json
import sys
from pathlib import Path

import pytest

from cli.calling import call, told

QUICK = ["train", "moons", "--set", "epochs=1", "--set", "batch=150", "--set", "accelerator=cpu"]


def test_ranks_train_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of a second one would meet what those of the first have left in torchrun's store."""
    monkeypatch.setenv("WORLD_SIZE", "2")
    done = call(*QUICK, "--seeds", "0-1", "--out", tmp_path)
    assert done.exit_code == 2
    assert "expected one seed, got 2" in told(done)


def test_one_run_prints_its_test_metrics_on_the_first_rank(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = call(*QUICK, "--out", tmp_path)
    assert done.exit_code == 0, done.stderr
    assert "test after temperature: accuracy" in done.stdout
    assert "epoch 1/1" in done.stderr
    again = call(*QUICK, "--out", tmp_path, "--json")
    found = json.loads(again.stdout)
    assert again.exit_code == 0
    assert found[0]["seed"] == 0
    assert Path(found[0]["run"]).parent.name.startswith("moons-")
    assert "epoch 1/1" not in again.stderr  # finished: not run again
    result = Path(found[0]["run"]) / "result.json"
    marked = json.loads(result.read_text()) | {"temperature": {"note": "T = 0.5 rests on the prior."}}
    result.write_text(json.dumps(marked))
    assert call(*QUICK, "--out", tmp_path).stdout.endswith("seed-0: T = 0.5 rests on the prior.\n")
    monkeypatch.setenv("RANK", "1")
    other = call(*QUICK, "--out", tmp_path)
    assert (other.exit_code, other.stdout) == (0, "")


def test_settings_that_do_not_fit_the_data_are_two_with_one_line(tmp_path: Path) -> None:
    done = call(*QUICK, "--set", "batch=1000", "--set", "drop_last=true", "--out", tmp_path)
    assert done.exit_code == 2
    assert done.stderr == "error: batch must be <= 300, the training rows, got 1000\n"


@pytest.mark.parametrize("engine", ["ray", "dask"])
def test_an_engine_that_is_not_installed_says_so(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("ray", "ray.util.joblib", "distributed"):
        monkeypatch.setitem(sys.modules, module, None)
    done = call(*QUICK, "--seeds", "0-1", "--engine", engine, "--out", tmp_path)
    assert done.exit_code == 2
    assert f"--engine {engine} needs the package" in told(done)
