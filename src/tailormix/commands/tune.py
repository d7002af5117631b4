"""``tailormix tune``: hyper-parameters by the paper's cross-validation, on optuna."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tailormix.commands.tuned import Bar
    from tailormix.data.access.record import Task
    from tailormix.experiments.tuning.search import Search

Name = Annotated[
    str, typer.Argument(help="A shipped experiment (tailormix list experiments) or a .toml file.")
]
Over = Annotated[
    list[str] | None,
    typer.Option(
        help="What to search: key=v1,v2,... or key=low..high or key=log:low..high. "
        "Default: the paper's grid of method.tau_std."
    ),
]
Set = Annotated[list[str] | None, typer.Option("--set", help="key=value, over the file, for every trial.")]
Trials = Annotated[int | None, typer.Option(min=1, help="Settings to try in all. Default: the grid, or 40.")]
Splits = Annotated[
    str | None,
    typer.Option(help="Splits a setting, as 2 or 4/10 (4 of 10 folds). Default: as in the paper, by task."),
]
Objective = Annotated[
    str | None,
    typer.Option(help="trade-off (accuracy - ECE after temperature), accuracy, ece, nll, rmse, mape, ..."),
]
Pruner = Annotated[str, typer.Option(help="Who gives up on lagging settings: median, hyperband or none.")]
Jobs = Annotated[int, typer.Option(min=1, help="Processes on this machine.")]
Storage = Annotated[
    str | None,
    typer.Option(help="Database URL that several machines share. Default: an SQLite file in --out."),
]
Out = Annotated[Path, typer.Option(file_okay=False, help="Folder of all searches.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Worker = Annotated[int, typer.Option(hidden=True, help="Number of this process; 0 is the one that reports.")]


def tune(
    experiment: Name,
    over: Over = None,
    settings: Set = None,
    trials: Trials = None,
    splits: Splits = None,
    objective: Objective = None,
    pruner: Pruner = "median",
    jobs: Jobs = 1,
    storage: Storage = None,
    out: Out = Path("tuning"),
    as_json: Json = False,
    worker: Worker = 0,
) -> None:
    """Search hyper-parameters on folds of the training rows; the test rows take no part.

    Every fold of every setting is a run that `tailormix train` could repeat. Ctrl-C keeps what is done, and
    the same command goes on. Writes the best setting as an experiment file.

    Example: tailormix tune digits-mlp --over method.tau_std=0.25,0.5,1 --over method.tau_max=log:0.1..10
    """
    from tailormix.commands import tuned
    from tailormix.experiments.tuning.findings import findings, under_way

    job = _job(experiment, (over or [], settings or []), splits, objective, pruner, trials, storage, out)
    if worker:
        _alone(job, tuned.silent_bar(), worker)
        return
    with tuned.bar(job.search, job.trials) as bar:
        stopped = _together(job, jobs, bar) if jobs > 1 else _alone(job, bar)
    study = job.study()
    found, busy = findings(study), under_way(study)
    record = tuned.finish(job.search, job.task, found, job.folder)
    if as_json:
        typer.echo(json.dumps({"storage": job.url, "under way": busy, **record}, indent=2))
    else:
        tuned.show(job.search, job.task, found, record, job.folder)
    if stopped:
        typer.echo("stopped: the same command goes on", err=True)
    elif busy:
        again = "if their process died, run the same command again in a minute"
        typer.echo(f"settings under way in other processes: {busy}; {again}", err=True)
    if stopped or record["best"] is None:
        raise typer.Exit(1)


@dataclass(frozen=True)
class _Job:
    """A checked search, and where it is kept."""

    search: Search
    task: Task
    trials: int
    pruner: str
    url: str
    folder: Path
    arguments: tuple[str, ...]

    def study(self, worker: int = 0) -> Any:
        """The study, created if need be; a database that does not answer is one line and exit code 1."""
        from tailormix.experiments.tuning.study import StorageError, open_study

        try:
            return open_study(self.search, self.url, trials=self.trials, pruner=self.pruner, worker=worker)
        except StorageError as error:
            typer.echo(f"error: {error}", err=True)
            raise typer.Exit(1) from error


def _job(
    experiment: str,
    layers: tuple[list[str], list[str]],
    splits: str | None,
    objective: str | None,
    pruner: str,
    trials: int | None,
    storage: str | None,
    out: Path,
) -> _Job:
    """What the options mean; what is wrong with them is wrong use (exit code 2)."""
    over, settings = layers
    with _wrong_use():
        import optuna  # noqa: F401 - its absence must show before any work

        from tailormix import checks
        from tailormix.experiments.reading import read
        from tailormix.experiments.tuning.objective import objective_of
        from tailormix.experiments.tuning.protocol import protocol_of
        from tailormix.experiments.tuning.search import Search
        from tailormix.experiments.tuning.space import space_of
        from tailormix.experiments.tuning.study import PRUNERS, default_trials

        checks.known("pruner", pruner, PRUNERS)
        base = read(experiment, settings)
        space = space_of(base, over)
        protocol = protocol_of(base, splits)
        wanted = objective_of(protocol.task, objective)
        search = Search(experiment, tuple(settings), space, protocol.names, wanted)
        search.check()
    folder = out / search.study
    folder.mkdir(parents=True, exist_ok=True)
    number = trials or default_trials(search)
    url = storage or f"sqlite:///{(folder / 'study.db').resolve()}"
    options = [*(w for text in over for w in ("--over", text)), *(w for s in settings for w in ("--set", s))]
    options += ["--splits", f"{protocol.splits}/{protocol.folds}", "--objective", wanted, "--pruner", pruner]
    options += ["--trials", str(number), "--storage", url, "--out", str(out)]
    return _Job(search, protocol.task, number, pruner, url, folder, (experiment, *options))


@contextlib.contextmanager
def _wrong_use() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        raise typer.BadParameter(f"{error}; install it: pip install 'tailormix[tune]'") from error
    except (ValueError, TypeError) as error:
        raise typer.BadParameter(str(error)) from error


def _alone(job: _Job, bar: Bar, worker: int = 0) -> bool:
    """Work in this process; whether Ctrl-C stopped it."""
    from tailormix.experiments.tuning.study import work

    try:
        study = job.study(worker)
        work(study, job.search, job.folder / "runs", trials=job.trials, tell=bar.tell, report=bar.report)
    except KeyboardInterrupt:
        return True
    return False


def _together(job: _Job, jobs: int, bar: Bar) -> bool:
    """Have several processes work, and tell of the trials they end; whether Ctrl-C stopped them."""
    from tailormix.experiments.tuning.workers import work_together

    study = job.study()

    def look() -> None:
        for trial in study.get_trials(deepcopy=False):
            bar.tell(trial)

    stopped, failed = work_together(job.arguments, jobs, job.folder, look)
    for log in failed:
        typer.echo(f"a process failed, see {log}", err=True)
    return stopped
