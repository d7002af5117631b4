"""``tailormix train`` from outside: exit codes, and what is finished is not run again."""

import json
import os
import re
import signal
import sys
from pathlib import Path

import pytest

from cli.calling import call, told
from tailormix.experiments import parallel
from tailormix.reports.runs.reading import find_runs
from tailormix.training.progress import Lines

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


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_with_its_code_and_how_to_resume(
    number: int, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Lines, "__call__", lambda *_: os.kill(os.getpid(), number))
    done = call(*QUICK, "--set", "epochs=2", "--out", tmp_path)
    assert done.exit_code == code
    assert done.stderr == "stopped in epoch 2 after step 1 of 2; the same command resumes it\n"


def test_force_starts_anew_and_moves_the_old_run_aside(tmp_path: Path) -> None:
    """Also where its checkpoints are damaged; a report leaves out what was moved aside."""
    runs = [json.loads(call(*QUICK, "--out", tmp_path, "--json").stdout)[0]]
    path = Path(runs[0]["run"])
    for number in (1, 2):
        done = call(*QUICK, "--out", tmp_path, "--force", "--json")
        assert done.exit_code == 0, done.stderr
        assert f"the old run is now {path}.old-{number}\n" in done.stderr
        runs += json.loads(done.stdout)
    assert [run["test"] for run in runs[1:]] == [runs[0]["test"]] * 2
    assert sorted(each.name for each in path.parent.iterdir()) == ["seed-0", "seed-0.old-1", "seed-0.old-2"]
    assert find_runs([tmp_path]) == [path]
    (path / "result.json").unlink()
    for file in (path / "checkpoints").iterdir():
        file.write_bytes(b"")
    refused = call(*QUICK, "--out", tmp_path)
    assert refused.exit_code == 1
    assert "no checkpoint in" in refused.stderr
    assert "--force starts anew" in refused.stderr
    assert call(*QUICK, "--out", tmp_path, "--force").exit_code == 0


def test_several_seeds_show_finished_ones_without_a_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in (0, 1):
        assert call(*QUICK, "--seeds", seed, "--out", tmp_path).exit_code == 0
    monkeypatch.setattr(parallel, "start", None)
    done = call(*QUICK, "--seeds", "0-1", "--out", tmp_path, "--json")
    assert done.exit_code == 0, done.stderr
    assert [row["seed"] for row in json.loads(done.stdout)] == [0, 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["moons", "--seeds", "9223372036854775808"], "seed must be < 2**63, got 9223372036854775808"),
        (["...toml"], "an experiment file needs a name before .toml, got '...toml'"),
        (["airfoil"], "missing file .* to fix it: tailormix data get airfoil"),
        (["digits-mlp", "--set", "data=npz", "--set", "data.path=no.npz"], "cannot use no.npz: .*"),
    ],
    ids=["seed", "name", "no-data", "no-file"],
)
def test_wrong_use_and_wrong_data_are_two_with_one_line(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("...toml").write_text('data.name = "moons"\nmodel.name = "mlp"\n')
    done = call("train", *arguments, "--set", "accelerator=cpu", TAILORMIX_DATA=str(tmp_path / "nothing"))
    assert done.exit_code == 2
    assert re.fullmatch(f"error: {message.replace('**', '[*][*]')}\n", done.stderr), done.stderr
    assert not list(tmp_path.glob("**/experiment.json"))


@pytest.mark.parametrize("engine", ["ray", "dask"])
def test_an_engine_that_is_not_installed_says_so(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("ray", "ray.util.joblib", "distributed"):
        monkeypatch.setitem(sys.modules, module, None)
    done = call(*QUICK, "--seeds", "0-1", "--engine", engine, "--out", tmp_path)
    assert done.exit_code == 2
    assert f"--engine {engine} needs the package" in told(done)
