"""A study: one search, its storage, and workers that share it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tailormix.experiments.experiment import SETTINGS, experiment_name, fingerprint, read, run_name
from tailormix.experiments.running import run_experiment
from tailormix.experiments.tuning.objective import averaged, fold_metrics, is_larger_better, score
from tailormix.experiments.tuning.space import Dimension, as_settings, grid
from tailormix.methods import METHODS
from tailormix.training.progress import silent
from tailormix.training.run_folder import RunError
from tailormix.training.settings import Settings
from tailormix.training.signals import stop_on_signal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    import optuna

    from tailormix.experiments.experiment import Experiment
    from tailormix.training.progress import Reporter


#: settings that name test rows: the released protocol's selection, and further data sets to be judged on
TESTING = ("imitate", "also")


def without_test(experiment: Experiment) -> Experiment:
    """The same experiment without any setting that looks at test rows."""
    plain = {name: getattr(Settings(), name) for name in TESTING if name in SETTINGS}
    return replace(experiment, training=replace(experiment.training, **plain))


@dataclass(frozen=True)
class Search:
    """An experiment with settings on top, the space, the folds and the objective.

    >>> space = (Dimension("method.tau_std", (0.5, 1)),)
    >>> search = Search("moons", ("epochs=2",), space, ("1/10",), "accuracy")
    >>> search.experiment({"method.tau_std": 1}, "1/10").data.options
    {'fold': '1/10'}
    """

    name: str
    settings: tuple[str, ...]
    space: tuple[Dimension, ...]
    folds: tuple[str, ...]
    objective: str

    def experiment(self, values: Mapping[str, Any], fold: str | None = None) -> Experiment:
        """The experiment with these values, on all rows or on one fold."""
        settings = [*self.settings, *as_settings(values)]
        if fold is None:
            return read(self.name, settings)
        return without_test(read(self.name, [*settings, f"data.fold={fold}"]))

    @property
    def study(self) -> str:
        """The name of the study: the same search goes on, another one begins afresh."""
        base = self.experiment({})
        facts = [fingerprint(base), base.training.seed, [repr(each) for each in self.space]]
        text = json.dumps([*facts, self.folds, self.objective])
        return f"{experiment_name(self.name)}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"

    def check(self) -> None:
        """Raise, before any work starts, if a searched key is none of the experiment's."""
        for each in self.space:
            for value in each.ends:
                self.experiment({each.key: value}, self.folds[0])

    def own_values(self) -> dict[str, Any] | None:
        """The experiment's values as they are, if the search holds them: a good first trial."""
        flat = self.experiment({}).to_dict()
        defaults = METHODS[flat["method"]["name"]].defaults
        found = {}
        for each in self.space:
            section, _, inner = each.key.partition(".")
            part = flat.get(section)
            default = defaults.get(inner) if section == "method" else None
            value = part.get(inner or "name", default) if isinstance(part, dict) else part
            if not each.holds(value):
                return None
            found[each.key] = value
        return found


#: seconds between signs of life of a trial, and how long a silent one counts as alive
HEARTBEAT, GRACE = 10, 60
FAILURES = (RunError, ValueError, TypeError, OSError, RuntimeError)
PRUNERS = ("median", "hyperband", "none")
TRIALS = 40


class StorageError(RuntimeError):
    """The database of a study cannot be used."""


class SurplusError(Exception):
    """While this process asked for a trial, another one took the last that was wanted."""


def default_trials(search: Search) -> int:
    """The size of the grid; where a range makes it endless, 40."""
    return len(grid(search.space)) or TRIALS


def open_study(
    search: Search, url: str, *, trials: int, pruner: str = "median", worker: int = 0
) -> optuna.Study:
    """Create the study, or take up the one of the same search in that database."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)  # trials are reported in our own words
    study = optuna.create_study(
        study_name=search.study,
        storage=_storage(url),
        direction="maximize" if is_larger_better(search.objective) else "minimize",
        pruner=_pruner(pruner, len(search.folds)),
        load_if_exists=True,
    )
    seen = len(study.get_trials(deepcopy=False))
    # a sampler's draws start afresh in every process: each needs a seed of its own
    study.sampler = optuna.samplers.TPESampler(
        seed=search.experiment({}).training.seed + seen + 1000 * worker
    )
    _enqueue(study, search, trials)
    return study


def _storage(url: str) -> optuna.storages.RDBStorage:
    import optuna
    from sqlalchemy.exc import SQLAlchemyError

    patience = {"connect_args": {"timeout": 60}} if url.startswith("sqlite") else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        try:
            return optuna.storages.RDBStorage(
                url,
                engine_kwargs=patience,
                heartbeat_interval=HEARTBEAT,
                grace_period=GRACE,
                heartbeat_stale_trial_callback=optuna.storages.RetryHeartbeatStaleTrialCallback(),
            )
        except (SQLAlchemyError, optuna.exceptions.OptunaError, ImportError, ValueError) as error:
            raise StorageError(f"cannot open the storage {url!r}: {str(error).splitlines()[0]}") from error


def _pruner(name: str, splits: int) -> optuna.pruners.BasePruner:
    import optuna

    if name == "none":
        return optuna.pruners.NopPruner()
    if name == "hyperband":
        return optuna.pruners.HyperbandPruner(min_resource=1, max_resource=splits, reduction_factor=2)
    return optuna.pruners.MedianPruner(n_startup_trials=4)


def _enqueue(study: optuna.Study, search: Search, trials: int) -> None:
    """The whole grid where there is room for it; else the experiment's own values first."""
    points = grid(search.space)
    if not points or len(points) > trials:
        own = search.own_values()
        points = [] if own is None else [own]
    for point in points:
        study.enqueue_trial(point, skip_if_exists=True)


def settled(study: optuna.Study) -> int:
    """Trials that ended or are under way; those that were stopped or whose process died do not count."""
    return sum(map(_settled, study.get_trials(deepcopy=False)))


def _settled(trial: optuna.trial.FrozenTrial) -> bool:
    from optuna.trial import TrialState

    ended = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.RUNNING)
    return trial.state in ended or "error" in trial.user_attrs


def taken_before(trial: optuna.trial.FrozenTrial, found: Iterable[optuna.trial.FrozenTrial]) -> int:
    """Trials that ended, or are under way and came before this one: of two that race, one gives way."""
    return sum(
        _settled(other) and (other.state.is_finished() or other.number < trial.number)
        for other in found
        if other.number != trial.number
    )


def work(
    study: optuna.Study,
    search: Search,
    runs: Path,
    *,
    trials: int,
    tell: Callable[[optuna.trial.FrozenTrial], None],
    report: Reporter = silent,
) -> None:
    """Carry out trials until the study has ``trials`` of them; Ctrl-C puts the one under way back."""

    def one(trial: optuna.Trial) -> float:
        found = study.get_trials(deepcopy=False)
        mine = next(other for other in found if other.number == trial.number)
        if taken_before(mine, found) >= trials:
            trial.set_user_attr("surplus", value=True)
            if (point := mine.system_attrs.get("fixed_params")) is not None:
                study.enqueue_trial(point)  # for a search that goes on with more trials
            raise SurplusError
        return carry_out(trial, search, runs, report)

    from optuna.storages import fail_stale_trials

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # optuna's, about features that it calls experimental
        fail_stale_trials(study)
    while settled(study) < trials:
        study.optimize(
            one,
            n_trials=1,
            catch=(*FAILURES, SurplusError),
            callbacks=[lambda _, trial: tell(trial)],
        )


def carry_out(trial: optuna.Trial, search: Search, runs: Path, report: Reporter) -> float:
    """One setting on all folds, given up early where it lags behind the median of the others."""
    values = {each.key: each.suggest(trial) for each in search.space}
    try:
        return _over_folds(trial, search, values, runs, report)
    except KeyboardInterrupt:
        trial.study.enqueue_trial(values)
        raise
    except FAILURES as error:
        trial.set_user_attr("error", str(error) or type(error).__name__)
        raise


def _over_folds(
    trial: optuna.Trial, search: Search, values: dict[str, Any], runs: Path, report: Reporter
) -> float:
    import optuna

    found: list[dict[str, float]] = []
    scores: list[float] = []
    for fold in search.folds:
        record = search.experiment(values, fold)
        path = runs / run_name(record) / f"seed-{record.training.seed}"
        found.append(fold_metrics(run_experiment(record, path, report=report), path))
        scores.append(score(search.objective, found[-1]))
        trial.set_user_attr("metrics", averaged(found))
        trial.set_user_attr("scores", scores)
        trial.report(sum(scores) / len(scores), len(scores))
        if len(scores) < len(search.folds) and trial.should_prune():
            raise optuna.TrialPruned
    return sum(scores) / len(scores)


PROGRAM = "import typer; from tailormix.cli.tune import tune; typer.run(tune)"
PAUSE = 0.5


def start(arguments: Sequence[str], worker: int, jobs: int, log: Path) -> subprocess.Popen[bytes]:
    """One process; its words go to ``log``. A session of its own keeps the terminal's Ctrl-C from it."""
    command = [sys.executable, "-c", PROGRAM, *arguments, "--worker", str(worker)]
    threads = os.environ.get("OMP_NUM_THREADS") or max(1, (os.cpu_count() or 1) // jobs)
    with log.open("ab") as said:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            env={**os.environ, "OMP_NUM_THREADS": str(threads)},
            start_new_session=True,
        )


def work_together(
    arguments: Sequence[str], jobs: int, folder: Path, look: Callable[[], None]
) -> tuple[bool, list[Path]]:
    """Run ``jobs`` processes to their end, calling ``look`` now and then.

    Returns whether a stop was asked for, and the logs of the processes that failed.
    """
    logs = [folder / f"worker-{number}.txt" for number in range(1, jobs + 1)]
    told = False
    with stop_on_signal() as stop:
        processes = [start(arguments, number, jobs, log) for number, log in enumerate(logs, start=1)]
        try:
            while any(process.poll() is None for process in processes):
                if stop.is_set() and not told:
                    told = True
                    _tell(processes, signal.SIGINT)
                time.sleep(PAUSE)
                look()
        except BaseException:  # a second Ctrl-C, say: nobody would be left to watch them
            _tell(processes, signal.SIGKILL)
            raise
    look()
    failed = [log for process, log in zip(processes, logs, strict=True) if process.returncode != 0]
    return told, [] if told else failed


def _tell(processes: Sequence[subprocess.Popen[bytes]], number: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)
