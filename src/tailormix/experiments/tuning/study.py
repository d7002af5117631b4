"""A study: one search in an optuna storage, and the processes that work on it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import signal
import statistics
import time
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, unquote_plus

import optuna
from optuna.trial import TrialState

from tailormix.experiments import parallel
from tailormix.experiments.experiment import experiment_name, fingerprint, read, run_name
from tailormix.experiments.running import run_experiment, run_groups
from tailormix.experiments.tuning.objective import direction, fold_metrics, score
from tailormix.experiments.tuning.space import Dimension, as_settings, grid
from tailormix.methods import METHODS
from tailormix.training.progress import silent
from tailormix.training.run_folder import RunError
from tailormix.training.signals import stop_on_signal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from optuna.trial import FrozenTrial

    from tailormix.experiments.experiment import Experiment
    from tailormix.training.progress import Reporter


#: seconds between a running trial's signs of life, and how long a silent one counts as alive
HEARTBEAT, GRACE = 10, 60
#: the environment variable that names the storage
STORAGE = "TAILORMIX_STORAGE"
FAILURES = (RunError, ValueError, TypeError, OSError, RuntimeError)
#: by name, for a number of folds
PRUNERS: dict[str, Callable[[int], optuna.pruners.BasePruner]] = {
    "median": lambda _: optuna.pruners.MedianPruner(n_startup_trials=4),
    "hyperband": lambda folds: optuna.pruners.HyperbandPruner(1, folds, reduction_factor=2),
    "none": lambda _: optuna.pruners.NopPruner(),
}


class StorageError(RuntimeError):
    """The database of a study cannot be used."""


class SurplusError(Exception):
    """While this process asked for a trial, another one took the last that was wanted."""


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
        """The experiment with these values, on all rows; or on a fold, which no test row has a part in."""
        settings = [*self.settings, *as_settings(values)]
        if fold is None:
            return read(self.name, settings)
        found = read(self.name, [*settings, f"data.fold={fold}"])
        # the released protocol selects on test rows, and ``also`` names further test sets
        return replace(found, training=replace(found.training, imitate="", also=()))

    @property
    def study_name(self) -> str:
        """The same search resumes its study; another search has another name."""
        base = self.experiment({})
        facts = [fingerprint(base), base.training.seed, [repr(each) for each in self.space]]
        text = json.dumps([*facts, self.folds, self.objective])
        return f"{experiment_name(self.name)}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"

    def check(self) -> None:
        """Raise, before any work starts, if a searched key is none of the experiment's."""
        for each in self.space:
            for value in each.choices or (each.low, each.high):
                self.experiment({each.key: value}, self.folds[0])

    def current_values(self) -> dict[str, Any] | None:
        """The experiment's values as they are, if the space contains them: a good first trial."""
        flat = self.experiment({}).to_dict()
        method = flat["method"]["name"]
        defaults = METHODS[method].defaults if method in METHODS else {}
        found = {}
        for each in self.space:
            section, _, inner = each.key.partition(".")
            value = flat.get(section)
            if isinstance(value, dict):
                value = value.get(inner or "name", defaults.get(inner) if section == "method" else None)
            if value not in each:
                return None
            found[each.key] = value
        return found


def open_study(
    search: Search, url: str, *, trials: int, pruner: str = "median", worker: int = 0
) -> optuna.Study:
    """Create the study, or resume the one of the same search in that database.

    The whole grid is enqueued where there is room for it, so that processes that share the study try every
    point once; else the experiment's current values come first.
    """
    optuna.logging.set_verbosity(optuna.logging.ERROR)  # the command line reports trials itself
    study = optuna.create_study(
        study_name=search.study_name,
        storage=_storage(url),
        direction=direction(search.objective),
        pruner=PRUNERS[pruner](len(search.folds)),
        load_if_exists=True,
    )
    seen = len(study.get_trials(deepcopy=False))
    # a sampler starts anew in every process: each needs a seed of its own
    seed = search.experiment({}).training.seed + seen + 1000 * worker
    study.sampler = optuna.samplers.TPESampler(seed=seed)
    points = grid(search.space)
    if not points or len(points) > trials:
        current = search.current_values()
        points = [] if current is None else [current]
    for point in points:
        study.enqueue_trial(point, skip_if_exists=True)
    return study


def _storage(url: str) -> optuna.storages.RDBStorage:
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
            reason = (str(error) or type(error).__name__).splitlines()[0]
            raise StorageError(hide_password(url, f"cannot open the storage {url!r}: {reason}")) from error


def hide_password(url: str, text: str) -> str:
    """``text`` without the password that the database URL holds.

    >>> hide_password("mysql://me:s%40fe@host/db", "mysql://me:s%40fe@host/db refused s@fe")
    'mysql://me:***@host/db refused ***'
    """
    found = re.findall(r"://[^/?#:@]*:(.*)@", url)  # up to the last @: not everybody quotes one
    found += re.findall(r"(?i)[?&][^=&]*(?:pass|pwd|secret|token)[^=&]*=([^&]*)", url)
    secrets = {form for secret in found for form in (secret, unquote(secret), unquote_plus(secret)) if form}
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def has_ended(trial: FrozenTrial) -> bool:
    """Whether a trial ended by itself; one that was stopped or gave way to another process did not."""
    return trial.state in (TrialState.COMPLETE, TrialState.PRUNED) or "error" in trial.user_attrs


def count_trials(study: optuna.Study) -> int:
    """Trials that have ended or are running."""
    found = study.get_trials(deepcopy=False)
    return sum(has_ended(trial) or trial.state == TrialState.RUNNING for trial in found)


def taken_before(number: int, found: Iterable[FrozenTrial]) -> int:
    """Trials that have ended, and running ones with a lower number: of two that race, one gives way."""
    running = TrialState.RUNNING
    return sum(
        has_ended(trial) or (trial.state == running and trial.number < number)
        for trial in found
        if trial.number != number
    )


def train_grid(
    study: optuna.Study,
    search: Search,
    runs: Path,
    *,
    trials: int,
    report: Reporter = silent,
    say: Callable[[str], None] = lambda _: None,
) -> None:
    """Train the settings of the grid that were not tried yet as batches of models, one fold at a time.

    The study then finds their runs finished. What cannot be trained together is left to it, and so is a grid
    of more than ``trials`` settings. Settings that lag behind are not pruned: all end at the same time.
    """
    tried = [trial.params for trial in study.get_trials(deepcopy=False) if has_ended(trial)]
    points = grid(search.space)
    if not 1 < len(points) <= trials:
        say("only a whole grid is trained together: settings are tried one by one")
        return
    for fold in search.folds:
        experiments = [search.experiment(point, fold) for point in points if point not in tried]
        run_groups(experiments, [run_path(runs, each) for each in experiments], report=report, say=say)


def run_path(runs: Path, experiment: Experiment) -> Path:
    """The folder of a run."""
    return runs / run_name(experiment) / f"seed-{experiment.training.seed}"


def optimise(
    study: optuna.Study,
    search: Search,
    runs: Path,
    *,
    trials: int,
    on_trial: Callable[[FrozenTrial], None] = lambda _: None,
    report: Reporter = silent,
) -> None:
    """Run trials until the study has ``trials`` of them; Ctrl-C puts the running one back."""

    def objective(trial: optuna.Trial) -> float:
        values = {each.key: each.suggest(trial) for each in search.space}
        try:
            if taken_before(trial.number, study.get_trials(deepcopy=False)) >= trials:
                raise SurplusError
            return _evaluate(trial, search, values, runs, report)
        except (KeyboardInterrupt, SurplusError):
            study.enqueue_trial(values)  # for whoever resumes
            raise
        except FAILURES as error:
            trial.set_user_attr("error", str(error) or type(error).__name__)
            raise

    def callback(_: optuna.Study, trial: FrozenTrial) -> None:
        if has_ended(trial):
            on_trial(trial)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        optuna.storages.fail_stale_trials(study)
    while count_trials(study) < trials:
        study.optimize(objective, n_trials=1, catch=(*FAILURES, SurplusError), callbacks=[callback])


def _evaluate(
    trial: optuna.Trial, search: Search, values: dict[str, Any], runs: Path, report: Reporter
) -> float:
    """The mean score of one setting over all folds; pruned where it lags behind other settings."""
    found: list[dict[str, float]] = []
    scores: list[float] = []
    for fold in search.folds:
        experiment = search.experiment(values, fold)
        path = run_path(runs, experiment)
        found.append(fold_metrics(run_experiment(experiment, path, report=report), path))
        scores.append(score(search.objective, found[-1]))
        means = {name: statistics.fmean(each[name] for each in found) for name in found[0]}
        trial.set_user_attr("metrics", means)
        trial.set_user_attr("scores", scores)
        trial.report(statistics.fmean(scores), len(scores))
        if len(scores) < len(search.folds) and trial.should_prune():
            raise optuna.TrialPruned
    return statistics.fmean(scores)


def run_workers(
    arguments: Sequence[str],
    url: str,
    n_jobs: int,
    folder: Path,
    poll: Callable[[], None],
    pause: float = 0.5,
) -> tuple[int, list[Path]]:
    """Run ``n_jobs`` processes of ``tailormix tune`` on one study, calling ``poll`` now and then.

    They are told the storage's ``url`` by their environment: a command line can be read by everybody on the
    machine. Returns the signal that stopped them, or 0, and the logs of the processes that failed.
    """
    logs = [folder / f"worker-{number}.txt" for number in range(1, n_jobs + 1)]
    variables = {**parallel.job_environment(n_jobs), STORAGE: url}
    stopping = False
    with stop_on_signal() as heard:
        processes = [
            parallel.start(["tune", *arguments, "--worker", str(number)], log, variables)
            for number, log in enumerate(logs, start=1)
        ]

        def send(number: signal.Signals) -> None:
            for process in processes:
                with contextlib.suppress(ProcessLookupError):
                    process.send_signal(number)

        try:
            while any(process.poll() is None for process in processes):
                if heard.signal and not stopping:
                    stopping = True
                    send(signal.SIGINT)
                time.sleep(pause)
                poll()
        except BaseException:  # a second Ctrl-C, for example: nobody would be left to watch them
            send(signal.SIGKILL)
            raise
    poll()
    failed = [log for process, log in zip(processes, logs, strict=True) if process.returncode != 0]
    return heard.signal, [] if stopping else failed
