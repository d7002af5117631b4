"""Studies: pruning, resuming, failing trials, and a shared database."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.trial import TrialState, create_trial

from tailormix.cli.tune import Bar
from tailormix.experiments.tuning import study as studies
from tailormix.experiments.tuning.findings import best_of, findings
from tailormix.experiments.tuning.space import dimension
from tailormix.experiments.tuning.study import Search, StorageError, open_study, settled, taken_before, work

QUICK = ("epochs=1", "batch=180", "accelerator=cpu")


def ignore(_: Any) -> None: ...


def search(*over: str, folds: int = 2, settings: tuple[str, ...] = QUICK) -> Search:
    names = tuple(f"{k}/10" for k in range(1, folds + 1))
    return Search("moons", settings, tuple(map(dimension, over)), names, "nll")


def opened(wanted: Search, folder: Path, trials: int, **options: Any) -> optuna.Study:
    return open_study(wanted, f"sqlite:///{folder / 'study.db'}", trials=trials, **options)


def test_every_fold_is_a_run_folder_that_knows_no_test_row(tmp_path: Path) -> None:
    wanted = search("method.tau_std=0.25,1")
    work(opened(wanted, tmp_path, 2), wanted, tmp_path / "runs", trials=2, tell=ignore)
    results = sorted((tmp_path / "runs").glob("*/seed-0/result.json"))
    assert len(results) == 4
    for path in results:
        assert "test" not in json.loads(path.read_text())
        assert not (path.parent / "predictions.npz").exists()
        kept = json.loads((path.parent / "experiment.json").read_text())["experiment"]
        assert kept["data"]["fold"] in ("1/10", "2/10")
    found = findings(opened(wanted, tmp_path, 2))
    assert [each.values for each in found] == [{"method.tau_std": 0.25}, {"method.tau_std": 1}]
    best = best_of(found, "nll")
    assert best is not None
    assert best.score == min(each.score for each in found)
    assert best.metrics["nll"] == pytest.approx(best.score)


Scores = Callable[..., dict[str, float]]


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


def test_lagging_settings_are_given_up(tmp_path: Path, made_runs: list[dict[str, Any]]) -> None:
    """Four settings to learn the median from; the fifth is worse from its first fold on, the sixth is not."""
    wanted = search("optimiser.lr=1,2,3,4,9,0.5", folds=3)
    study = opened(wanted, tmp_path, 6)
    work(study, wanted, tmp_path, trials=6, tell=ignore)
    states = [trial.state for trial in study.trials]
    assert states == [TrialState.COMPLETE] * 4 + [TrialState.PRUNED, TrialState.COMPLETE]
    assert len(made_runs) == 5 * 3 + 1
    assert findings(study)[4].scores == [9.0]


@pytest.mark.parametrize("pruner", ["none", "hyperband"])
def test_other_pruners(pruner: str, tmp_path: Path, made_runs: list[dict[str, Any]]) -> None:
    wanted = search("optimiser.lr=1,2,3,4,9", folds=4)
    study = opened(wanted, tmp_path, 5, pruner=pruner)
    work(study, wanted, tmp_path, trials=5, tell=ignore)
    assert (len(made_runs) == 20) == (pruner == "none")
    assert study.best_params == {"optimiser.lr": 1}


def test_ranges_start_from_the_experiments_own_values(
    tmp_path: Path, made_runs: list[dict[str, Any]]
) -> None:
    wanted = search("optimiser.lr=log:1e-4..1", "method.tau_std=0.1..1", "batch=8..64")
    wanted = Search(wanted.name, QUICK[:1], wanted.space, wanted.folds, "nll")
    study = opened(wanted, tmp_path, 5)
    work(study, wanted, tmp_path, trials=5, tell=ignore)
    assert study.trials[0].params == {"optimiser.lr": 0.01, "method.tau_std": 0.2, "batch": 64}
    assert all(isinstance(row["batch"], int) and 8 <= row["batch"] <= 64 for row in made_runs)
    assert len(study.trials) == 5


def test_a_failing_setting_stops_no_other(tmp_path: Path, made_runs: list[dict[str, Any]]) -> None:
    wanted = search("optimiser.lr=1,666,2")
    study = opened(wanted, tmp_path, 3)
    work(study, wanted, tmp_path, trials=3, tell=ignore)
    found = findings(study)
    assert [each.state for each in found] == ["complete", "fail", "complete"]
    assert found[1].error == "a bad rate"
    assert found[1].as_dict()["error"] == "a bad rate"


def test_ctrl_c_puts_the_setting_back_and_the_same_search_goes_on(
    tmp_path: Path, made_runs: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = search("optimiser.lr=1,2,3")
    run = studies.run_experiment

    def interrupted(record: Any, path: Path, **options: Any) -> dict[str, Any]:
        if record.training.optimiser.options["lr"] == 2:
            raise KeyboardInterrupt
        return run(record, path, **options)

    monkeypatch.setattr(studies, "run_experiment", interrupted)
    with pytest.raises(KeyboardInterrupt):
        work(opened(wanted, tmp_path, 3), wanted, tmp_path, trials=3, tell=ignore)
    study = opened(wanted, tmp_path, 3)
    assert settled(study) == 1
    monkeypatch.setattr(studies, "run_experiment", run)
    work(study, wanted, tmp_path, trials=3, tell=ignore)
    assert sorted(each.values["optimiser.lr"] for each in findings(study)) == [1, 2, 3]
    before = len(made_runs)
    work(opened(wanted, tmp_path, 3), wanted, tmp_path, trials=3, tell=ignore)
    assert len(made_runs) == before


def test_a_setting_whose_process_died_is_tried_again(
    tmp_path: Path, made_runs: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trial under way whose last sign of life is older than the grace period."""
    wanted = search("optimiser.lr=1,2")
    monkeypatch.setattr(studies, "HEARTBEAT", 1)
    monkeypatch.setattr(studies, "GRACE", 1)
    study = opened(wanted, tmp_path, 2)
    with pytest.warns(UserWarning, match="Heartbeat"):
        dead = study.ask()
    dead.suggest_categorical("optimiser.lr", (1, 2))
    storage: Any = study._storage
    storage.record_heartbeat(dead._trial_id)
    backend = storage._backend if hasattr(storage, "_backend") else storage
    monkeypatch.setattr(type(backend), "_get_stale_trial_ids", lambda *_: [dead._trial_id])
    work(study, wanted, tmp_path, trials=2, tell=ignore)
    done = [trial.params["optimiser.lr"] for trial in study.trials if trial.state == TrialState.COMPLETE]
    assert sorted(done) == [1, 2]


def test_two_processes_share_a_study(tmp_path: Path, made_runs: list[dict[str, Any]]) -> None:
    """Two handles on one database, as two processes have: neither repeats what the other has done."""
    wanted = search("optimiser.lr=1,2,3,4", folds=1)
    first, second = opened(wanted, tmp_path, 4), opened(wanted, tmp_path, 4, worker=1)
    work(first, wanted, tmp_path, trials=2, tell=ignore)
    work(second, wanted, tmp_path, trials=4, tell=ignore)
    assert sorted(row["optimiser"]["lr"] for row in made_runs) == [1, 2, 3, 4]
    assert len(first.trials) == 4


def test_of_two_processes_that_race_for_the_last_trial_one_gives_way(
    tmp_path: Path, made_runs: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one asks for a trial right after this one has looked how many there are."""
    wanted = search("optimiser.lr=1,2", folds=1)
    study, other = opened(wanted, tmp_path, 2), opened(wanted, tmp_path, 2, worker=1)
    work(study, wanted, tmp_path, trials=1, tell=ignore)
    looked = []

    def look_then_lose(study: Any) -> int:
        looked.append(settled(study))
        found = looked[-1]
        if len(looked) == 1:
            work(other, wanted, tmp_path, trials=2, tell=ignore)
        return found

    monkeypatch.setattr(studies, "settled", look_then_lose)
    told: list[str] = []
    work(study, wanted, tmp_path, trials=2, tell=Bar(told.append, told.append).tell)
    assert looked[0] == 1
    assert sorted(each.values["optimiser.lr"] for each in findings(study)) == [1, 2]
    assert len(made_runs) == 2
    assert told == []


def test_who_gives_way_puts_the_setting_back(
    tmp_path: Path, made_runs: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = search("optimiser.lr=1,2,3", folds=1)
    study = opened(wanted, tmp_path, 3)
    work(study, wanted, tmp_path, trials=2, tell=ignore)
    answers = iter([1, 2])  # it looks before the second has ended
    monkeypatch.setattr(studies, "settled", lambda _: next(answers))
    work(study, wanted, tmp_path, trials=2, tell=ignore)
    monkeypatch.setattr(studies, "settled", settled)
    assert len(made_runs) == 2
    work(study, wanted, tmp_path, trials=3, tell=ignore)
    assert sorted(each.values["optimiser.lr"] for each in findings(study)) == [1, 2, 3]


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (["COMPLETE", "RUNNING", "mine", "RUNNING"], 2),
        (["COMPLETE", "FAIL", "mine", "COMPLETE"], 2),
        (["WAITING", "WAITING", "mine", "PRUNED"], 1),
        (["RUNNING", "mine"], 1),
        (["mine", "RUNNING"], 0),
    ],
)
def test_who_comes_first(states: list[str], expected: int) -> None:
    """Of two trials under way the later one gives way; what has ended counts whenever it began."""
    found: list[Any] = []
    for number, name in enumerate(states):
        trial = create_trial(
            state=TrialState["RUNNING" if name == "mine" else name], value=1.0 if name == "COMPLETE" else None
        )
        trial.number = number
        found.append(trial)
    assert taken_before(found[states.index("mine")], found) == expected


def test_a_database_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot open the storage 'nonsense'"):
        open_study(search("epochs=1,2"), "nonsense", trials=1)


def test_airfoil_by_the_papers_folds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A made file in the owners' format: 1003 rows train and 300 validate in every fold."""
    table = np.random.default_rng(0).random((1503, 6))
    (tmp_path / "airfoil").mkdir()
    np.savetxt(tmp_path / "airfoil" / "airfoil_self_noise.dat", table, delimiter="\t")
    monkeypatch.setenv("TAILORMIX_DATA", str(tmp_path))
    settings = ("epochs=1", "batch=500", "mc_samples=2", "accelerator=cpu")
    space = (dimension("method.tau_max=log:1e-4..10"),)
    wanted = Search("airfoil", settings, space, ("1/5", "2/5"), "rmse")
    study = opened(wanted, tmp_path, 2)
    work(study, wanted, tmp_path / "runs", trials=2, tell=ignore)
    found = findings(study)
    assert found[0].values == {"method.tau_max": 1e-4}
    assert {"rmse", "mape", "uce", "ence"} <= set(found[0].metrics)
    sizes = {len(np.load(path)["targets"]) for path in (tmp_path / "runs").glob("*/seed-0/validation.npz")}
    assert sizes == {300}
