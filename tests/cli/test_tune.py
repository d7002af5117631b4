"""``tailormix tune`` from outside."""

import json
import sys
from pathlib import Path
from typing import Any

import optuna
import pytest
import typer
from typer.testing import CliRunner

from tailormix.cli.main import app as whole
from tailormix.cli.tune import tune
from tailormix.experiments import parallel, read
from tailormix.experiments.tuning import study

app = typer.Typer()
app.command()(tune)
QUICK = ["--set", "epochs=1", "--set", "batch=180", "--set", "accelerator=cpu", "--splits", "2"]
OVER = ["--over", "method.tau_std=0.25,1"]


def call(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


def said(text: str) -> str:
    return " ".join(text.replace("│", " ").split())


def test_the_best_setting_becomes_an_experiment_file(tmp_path: Path) -> None:
    done = call("moons", *QUICK, *OVER, "--out", str(tmp_path))
    assert done.exit_code == 0, done.stderr
    assert "trade-off by method.tau_std" in done.stdout
    assert "●" in done.stdout
    assert "trial 1 complete: method.tau_std=1" in done.stderr
    (folder,) = tmp_path.iterdir()
    assert f"tailormix train {folder / 'best.toml'}" in done.stdout
    again = call("moons", *QUICK, *OVER, "--out", str(tmp_path), "--json")
    assert again.exit_code == 0
    assert "trial" not in again.stderr  # nothing is tried twice
    found = json.loads(again.stdout)
    tuned = read(found["files"]["best"])
    assert tuned.method.options["tau_std"] == found["best"]["values"]["method.tau_std"]
    assert "fold" not in tuned.data.options
    assert tuned.training.epochs == 1
    assert "tuned on 2 folds by trade-off" in tuned.summary
    assert {Path(path).suffix for path in found["files"]["pictures"]} == {".svg", ".png"}
    assert [row["value"] for row in found["sensitivity"]["method.tau_std"]] == ["0.25", "1"]
    assert json.loads((folder / "trials.json").read_text())["best"] == found["best"]


def test_two_processes_share_the_work(tmp_path: Path) -> None:
    done = call("moons", *QUICK, *OVER, "--jobs", "2", "--out", str(tmp_path), "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert sorted(row["values"]["method.tau_std"] for row in found["trials"]) == [0.25, 1]
    assert done.stderr.count("complete: ") == 2


def test_a_process_that_fails_is_named_by_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "COMMAND", (sys.executable, "-c", "import sys; sys.exit('no luck')"))
    done = call("moons", *QUICK, *OVER, "--jobs", "2", "--out", str(tmp_path))
    assert done.exit_code == 1
    assert "a process failed, see" in done.stderr
    (folder,) = tmp_path.iterdir()
    assert "no luck" in (folder / "worker-1.txt").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["moon"], "did you mean 'moons'"),
        (["moons", "--over", "method.tau_sdt=1,2"], "did you mean 'tau_std'"),
        (["moons", "--over", "method.tau_std=2..1"], "a range must rise"),
        (["moons", "--set", "method=erm"], "method erm has no tau_std"),
        (["moons", "--splits", "x"], "splits must be a number up to 10"),
        (["moons", "--objective", "rmse"], "unknown objective 'rmse'"),
        (["moons", "--pruner", "prune"], "unknown pruner 'prune'"),
    ],
)
def test_wrong_use_is_two(arguments: list[str], words: str, tmp_path: Path) -> None:
    done = call(*arguments, "--out", str(tmp_path))
    assert done.exit_code == 2
    assert words in said(done.stderr)
    assert list(tmp_path.iterdir()) == []


def test_without_optuna_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    done = call("moons", "--out", str(tmp_path))
    assert done.exit_code == 2
    assert "pip install 'tailormix[tune]'" in said(done.stderr)


def test_a_bad_storage_is_one_line(tmp_path: Path) -> None:
    done = call("moons", *QUICK, *OVER, "--storage", "nonsense", "--out", str(tmp_path))
    assert done.exit_code == 1
    assert "error: cannot open the storage 'nonsense'" in said(done.stderr)
    assert "Traceback" not in done.stderr


def test_ctrl_c_keeps_what_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, done = study.run_experiment, [0]

    def interrupted(*arguments: Any, **options: Any) -> Any:
        done[0] += 1
        if done[0] == 3:  # the first fold of the second setting
            raise KeyboardInterrupt
        return run(*arguments, **options)

    monkeypatch.setattr(study, "run_experiment", interrupted)
    stopped = call("moons", *QUICK, *OVER, "--out", str(tmp_path), "--json")
    assert stopped.exit_code == 1
    assert "stopped: the same command resumes" in stopped.stderr
    assert [row["values"] for row in json.loads(stopped.stdout)["trials"]] == [{"method.tau_std": 0.25}]
    again = call("moons", *QUICK, *OVER, "--out", str(tmp_path), "--json")
    assert again.exit_code == 0
    assert [row["values"]["method.tau_std"] for row in json.loads(again.stdout)["trials"]] == [0.25, 1]
    assert done[0] == 5


def test_settings_of_other_processes_are_counted(tmp_path: Path) -> None:
    call("moons", *QUICK, *OVER, "--out", str(tmp_path))
    (folder,) = tmp_path.iterdir()
    url = f"sqlite:///{folder / 'study.db'}"
    optuna.load_study(study_name=folder.name, storage=url).ask()
    done = call("moons", *QUICK, *OVER, "--out", str(tmp_path), "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["under way"] == 1
    assert "settings running in other processes: 1" in said(done.stderr)


def test_when_no_setting_works_the_reason_is_printed(tmp_path: Path) -> None:
    done = call("moons", *QUICK, "--over", "method.tau_std=-1,-2", "--out", str(tmp_path))
    assert done.exit_code == 1
    assert "tau_std must be > 0, got -1" in done.stdout
    assert "no setting ran on all folds" in done.stdout


def test_help_has_an_example() -> None:
    done = CliRunner().invoke(whole, ["tune", "--help"])
    assert done.exit_code == 0
    assert "Example: tailormix tune digits-mlp" in said(done.stdout)
    assert "--worker" not in done.stdout
