"""Studies: pruning, resuming, failing trials, and a shared database."""

import json
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.trial import TrialState, create_trial

from tailormix.experiments import read
from tailormix.experiments.tuning import study as studies
from tailormix.experiments.tuning.space import parse_dimension
from tailormix.experiments.tuning.study import (
    Search,
    count_trials,
    has_ended,
    open_study,
    optimise,
    taken_before,
)
from tailormix.experiments.tuning.summary import as_dict

QUICK = ("epochs=1", "batch=180", "accelerator=cpu")


def search(*over: str, folds: int = 2, settings: tuple[str, ...] = QUICK) -> Search:
    names = tuple(f"{k}/10" for k in range(1, folds + 1))
    return Search("moons", settings, tuple(map(parse_dimension, over)), names, "nll")


def opened(wanted: Search, folder: Path, trials: int, **options: Any) -> optuna.Study:
    return open_study(wanted, f"sqlite:///{folder / 'study.db'}", trials=trials, **options)


def optimised(over: str, folder: Path, trials: int, folds: int = 2, **options: Any) -> optuna.Study:
    """The study after all its trials."""
    wanted = search(over, folds=folds)
    study = opened(wanted, folder, trials, **options)
    optimise(study, wanted, folder, trials=trials)
    return study


def ended(study: optuna.Study) -> list[dict[str, Any]]:
    return [as_dict(trial) for trial in study.trials if has_ended(trial)]


def test_every_fold_is_a_run_folder_that_knows_no_test_row(tmp_path: Path) -> None:
    wanted = search("method.tau_std=0.25,1")
    optimise(opened(wanted, tmp_path, 2), wanted, tmp_path / "runs", trials=2)
    results = sorted((tmp_path / "runs").glob("*/seed-0/result.json"))
    assert len(results) == 4
    for path in results:
        assert "test" not in json.loads(path.read_text())
        assert not (path.parent / "predictions.npz").exists()
        kept = json.loads((path.parent / "experiment.json").read_text())["experiment"]
        assert kept["data"]["fold"] in ("1/10", "2/10")
    found = ended(opened(wanted, tmp_path, 2))
    assert [each["values"] for each in found] == [{"method.tau_std": 0.25}, {"method.tau_std": 1}]
    assert all(each["metrics"]["nll"] == pytest.approx(each["score"]) for each in found)


@pytest.fixture
def made_runs(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """No training: a run's NLL is its learning rate, and what was asked for is written down."""
    asked: list[dict[str, Any]] = []

    def run(record: Any, path: Path, **_: Any) -> dict[str, Any]:
        asked.append(record.to_dict())
        if record.training.optimiser.options["lr"] == 666:
            raise ValueError("a bad rate")
        return {"nll": float(record.training.optimiser.options["lr"])}

    monkeypatch.setattr(studies, "run_experiment", run)
    monkeypatch.setattr(studies, "fold_metrics", lambda result, _: result)
    return asked


def test_lagging_settings_are_pruned(tmp_path: Path, made_runs: list[dict[str, Any]]) -> None:
    """Four settings to learn the median from; the fifth is worse from its first fold on, the sixth is not."""
    study = optimised("optimiser.lr=1,2,3,4,9,0.5", tmp_path, 6, folds=3)
    states = [trial.state for trial in study.trials]
    assert states == [TrialState.COMPLETE] * 4 + [TrialState.PRUNED, TrialState.COMPLETE]
    assert len(made_runs) == 5 * 3 + 1
    assert ended(study)[4]["scores"] == [9.0]


@pytest.mark.parametrize("pruner", ["none", "hyperband"])
def test_other_pruners(pruner: str, tmp_path: Path, made_runs: list[dict[str, Any]]) -> None:
    study = optimised("optimiser.lr=1,2,3,4,9", tmp_path, 5, folds=4, pruner=pruner)
    assert (len(made_runs) == 20) == (pruner == "none")
    assert study.best_params == {"optimiser.lr": 1}


def test_ranges_start_from_the_experiments_current_values(
    tmp_path: Path, made_runs: list[dict[str, Any]]
) -> None:
    wanted = search("optimiser.lr=log:1e-4..1", "method.tau_std=0.1..1", "batch=8..64")
    wanted = Search(wanted.name, QUICK[:1], wanted.space, wanted.folds, "nll")
    study = opened(wanted, tmp_path, 5)
    optimise(study, wanted, tmp_path, trials=5)
    assert study.trials[0].params == {"optimiser.lr": 0.01, "method.tau_std": 0.2, "batch": 64}
    assert all(isinstance(row["batch"], int) and 8 <= row["batch"] <= 64 for row in made_runs)
    assert len(study.trials) == 5


def test_a_failing_setting_stops_no_other(tmp_path: Path, made_runs: list[dict[str, Any]]) -> None:
    found = ended(optimised("optimiser.lr=1,666,2", tmp_path, 3))
    assert [each["state"] for each in found] == ["complete", "fail", "complete"]
    assert found[1]["error"] == "a bad rate"


DYING = """
import os, sqlite3, sys, time
from pathlib import Path
from tailormix.experiments.tuning import study as studies
from tailormix.experiments.tuning.space import parse_dimension
folder, *settings = sys.argv[1:]

def die(*_, **__):  # after the first sign of life, which another thread writes
    with sqlite3.connect(f"{folder}/study.db") as database:
        while not database.execute("SELECT * FROM trial_heartbeats").fetchall():
            time.sleep(0.01)
    os._exit(9)

studies.run_experiment = die
space = (parse_dimension("optimiser.lr=1,2"),)
search = studies.Search("moons", tuple(settings), space, ("1/10", "2/10"), "nll")
study = studies.open_study(search, f"sqlite:///{folder}/study.db", trials=2)
studies.optimise(study, search, Path(folder), trials=2)
"""


def test_a_setting_whose_process_died_is_tried_again(tmp_path: Path, made_runs: list[dict[str, Any]]) -> None:
    """Its trial still counts as running; long after its last sign of life it is dead, and tried again."""
    wanted = search("optimiser.lr=1,2")
    died = subprocess.run([sys.executable, "-c", DYING, str(tmp_path), *QUICK], check=False)
    assert died.returncode == 9
    study = opened(wanted, tmp_path, 2)
    assert [trial.state for trial in study.trials] == [TrialState.RUNNING, TrialState.WAITING]
    with sqlite3.connect(tmp_path / "study.db") as database:
        database.execute("UPDATE trial_heartbeats SET heartbeat = datetime(heartbeat, '-1 day')")
    optimise(study, wanted, tmp_path, trials=2)
    assert sorted(each["values"]["optimiser.lr"] for each in ended(study)) == [1, 2]


def test_of_two_processes_that_race_for_the_last_trial_one_gives_way(
    tmp_path: Path, made_runs: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one asks for a trial right after this one has looked how many there are."""
    wanted = search("optimiser.lr=1,2", folds=1)
    study, other = opened(wanted, tmp_path, 2), opened(wanted, tmp_path, 2, worker=1)
    optimise(study, wanted, tmp_path, trials=1)
    looked = []

    def look_then_lose(study: Any) -> int:
        looked.append(count_trials(study))
        found = looked[-1]
        if len(looked) == 1:
            optimise(other, wanted, tmp_path, trials=2)
        return found

    monkeypatch.setattr(studies, "count_trials", look_then_lose)
    reported: list[Any] = []
    optimise(study, wanted, tmp_path, trials=2, on_trial=reported.append)
    assert looked[0] == 1
    assert sorted(each["values"]["optimiser.lr"] for each in ended(study)) == [1, 2]
    assert len(made_runs) == 2
    assert reported == []


def test_who_gives_way_puts_the_setting_back(
    tmp_path: Path, made_runs: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = search("optimiser.lr=1,2,3", folds=1)
    study = opened(wanted, tmp_path, 3)
    optimise(study, wanted, tmp_path, trials=2)
    answers = iter([1, 2])  # it looks before the second has ended
    monkeypatch.setattr(studies, "count_trials", lambda _: next(answers))
    optimise(study, wanted, tmp_path, trials=2)
    monkeypatch.setattr(studies, "count_trials", count_trials)
    assert len(made_runs) == 2
    optimise(study, wanted, tmp_path, trials=3)
    assert sorted(each["values"]["optimiser.lr"] for each in ended(study)) == [1, 2, 3]


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ("COMPLETE RUNNING mine RUNNING", 2),
        ("COMPLETE FAIL mine COMPLETE", 2),
        ("WAITING WAITING mine PRUNED", 1),
        ("RUNNING mine", 1),
        ("mine RUNNING", 0),
    ],
)
def test_who_comes_first(states: str, expected: int) -> None:
    """Of two running trials the later one gives way; what has ended counts whenever it began."""
    found: list[Any] = []
    for number, name in enumerate(states.split()):
        state = TrialState["RUNNING" if name == "mine" else name]
        found.append(create_trial(state=state, value=1.0 if name == "COMPLETE" else None))
        found[-1].number = number
    assert taken_before(states.split().index("mine"), found) == expected


def test_airfoil_by_the_papers_folds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A made file in the owners' format: 1003 rows train and 300 validate in every fold."""
    table = np.random.default_rng(0).random((1503, 6))
    (tmp_path / "airfoil").mkdir()
    np.savetxt(tmp_path / "airfoil" / "airfoil_self_noise.dat", table, delimiter="\t")
    monkeypatch.setenv("TAILORMIX_DATA", str(tmp_path))
    settings = ("epochs=1", "batch=500", "mc_samples=2", "accelerator=cpu")
    space = (parse_dimension("method.tau_max=log:1e-4..10"),)
    wanted = Search("airfoil", settings, space, ("1/5", "2/5"), "rmse")
    study = opened(wanted, tmp_path, 2)
    optimise(study, wanted, tmp_path / "runs", trials=2)
    found = ended(study)
    assert found[0]["values"] == {"method.tau_max": 1e-4}
    assert {"rmse", "mape", "uce", "ence"} <= set(found[0]["metrics"])
    sizes = {len(np.load(path)["targets"]) for path in (tmp_path / "runs").glob("*/seed-0/validation.npz")}
    assert sizes == {300}


def one_fold(*over: str, settings: tuple[str, ...] = (), fold: str = "1/10") -> Search:
    return Search("digits-mlp", settings, tuple(map(parse_dimension, over)), (fold,), "nll")


def test_unknown_keys_fail_before_any_work() -> None:
    with pytest.raises(ValueError, match="did you mean 'tau_std'"):
        one_fold("method.tau_sdt=1,2").check()
    with pytest.raises(ValueError, match="epochs must be >= 1"):
        one_fold("epochs=0..3").check()


def test_current_values_are_those_of_the_file_or_the_methods_defaults() -> None:
    found = one_fold("method.tau_std=0.1..1", "epochs=1..30").current_values()
    assert found == {"method.tau_std": 0.25, "epochs": 20}
    assert one_fold("method=sk-mixup,mixup").current_values() == {"method": "sk-mixup"}
    assert one_fold("method.tau_std=0.5..1").current_values() is None


def test_another_search_is_another_study() -> None:
    searches = [one_fold("epochs=1,2"), one_fold("epochs=1,3"), one_fold("epochs=1,2", fold="1/5")]
    searches.append(one_fold("epochs=1,2", settings=("seed=1",)))
    assert len({each.study_name for each in searches}) == 4
    assert one_fold("epochs=1,2").study_name == searches[0].study_name


def test_no_fold_sees_test_rows_whatever_the_experiment_says() -> None:
    """Selection on test rows, as released, and further test sets: every such setting is left out."""
    wanted = one_fold("epochs=1,2", settings=("imitate=released-protocol", 'also=["cifar10-c"]'))
    assert wanted.experiment({}, "1/10").training == read("digits-mlp").training


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("sqlite:////tmp/study.db", "sqlite:////tmp/study.db"),
        ("mysql://me@host/db", "mysql://me@host/db"),
        ("postgresql://me:s3cret@host:5432/db", "postgresql://me:***@host:5432/db"),
        ("postgresql+psycopg://me:p%40ss%2Fw@host/db", "postgresql+psycopg://me:***@host/db"),
        ("mysql://me:un:quoted@/pass@host/db", "mysql://me:***@host/db"),
        ("mysql://:s3cret@host/db", "mysql://:***@host/db"),
        ("postgresql://host/db?user=me&password=s3cret&x=1", "postgresql://host/db?user=me&password=***&x=1"),
        ("mysql://host/db?ssl_key_passwd=s3cret", "mysql://host/db?ssl_key_passwd=***"),
    ],
)
def test_passwords_are_hidden(url: str, shown: str) -> None:
    assert studies.hide_password(url, url) == shown


WORKER = """
import pathlib, sys, time
here = pathlib.Path({folder!r}) / f"alive-{{sys.argv[-1]}}"
here.touch()
try:
    time.sleep(60)
except KeyboardInterrupt:
    here.rename(here.with_name(here.name.replace("alive", "heard")))
"""
PARENT = """
import pathlib, sys
from tailormix.experiments import parallel
from tailormix.experiments.tuning import study
parallel.COMMAND = (sys.executable, "-c", {worker!r})
stopped, failed = study.run_workers(["x"], "sqlite://", 2, pathlib.Path({folder!r}), lambda: None, pause=0.05)
print(stopped, failed)
"""


def wait_for(folder: Path, names: set[str]) -> None:
    end = time.monotonic() + 60
    while not names <= {path.name for path in folder.iterdir()}:
        assert time.monotonic() < end, sorted(folder.iterdir())
        time.sleep(0.05)


def test_every_process_hears_of_ctrl_c_once(tmp_path: Path) -> None:
    worker = WORKER.format(folder=str(tmp_path))
    code = PARENT.format(worker=worker, folder=str(tmp_path))
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    wait_for(tmp_path, {"alive-1", "alive-2"})
    parent.send_signal(signal.SIGINT)
    said, _ = parent.communicate(timeout=60)
    assert said.strip() == "2 []"
    wait_for(tmp_path, {"heard-1", "heard-2"})
