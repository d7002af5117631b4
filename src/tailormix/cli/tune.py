"""``tailormix tune``: search hyper-parameters, and show what was found."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import optuna

    from tailormix.data.splits import Task
    from tailormix.experiments.tuning.findings import Finding
    from tailormix.experiments.tuning.study import Search


MOST_ROWS = 12


class Bar:
    """Told of trials, each of which it shows once, and of epochs."""

    def __init__(self, say: Callable[[str], None], step: Callable[[str], None]) -> None:
        self.say = say
        self.step = step
        self.told: set[int] = set()

    def tell(self, trial: optuna.trial.FrozenTrial) -> None:
        """A trial, which may be still under way."""
        from tailormix.experiments.tuning.findings import finding

        if trial.state.is_finished() and trial.number not in self.told and "surplus" not in trial.user_attrs:
            self.told.add(trial.number)
            self.say(sentence(finding(trial)))

    def report(self, row: Mapping[str, Any], epochs: int) -> None:
        """An epoch."""
        from tailormix.training.progress import row_text

        self.step(f"epoch {row['epoch']}/{epochs} · {row_text(row)}")


def sentence(found: Finding) -> str:
    """One trial in one line.

    >>> from tailormix.experiments.tuning.findings import Finding
    >>> sentence(Finding(3, {"method.tau_std": 0.5}, "pruned", [0.5, 0.7]))
    'trial 3 pruned: method.tau_std=0.5: 0.6 ± 0.141 on 2 folds'
    """
    values = ", ".join(f"{key}={_short(value)}" for key, value in found.values.items())
    folds = f"{len(found.scores)} fold{'s' if len(found.scores) > 1 else ''}"
    said = f"{found.score:.4g} ± {found.spread:.3g} on {folds}" if found.scores else ""
    return ": ".join(
        part for part in (f"trial {found.number} {found.state}", values, said, found.error) if part
    )


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def silent_bar() -> Bar:
    """For processes whose trials another one tells of."""
    return Bar(lambda _: None, lambda _: None)


@contextlib.contextmanager
def bar(search: Search, trials: int) -> Iterator[Bar]:
    """A bar on a terminal, and one line a trial, on stderr."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    said = TextColumn("{task.fields[said]}")
    with Progress(*columns, said, console=console, disable=not console.is_terminal) as bars:
        task = bars.add_task(f"tune {search.study}", total=trials, said="")

        def say(text: str) -> None:
            bars.advance(task)
            console.print(text, soft_wrap=True, highlight=False, markup=False)

        yield Bar(say, lambda text: bars.update(task, said=text))


def finish(search: Search, task: Task, found: Sequence[Finding], folder: Path) -> dict[str, Any]:
    """Write the files of the search; what was found, for JSON."""
    from tailormix.experiments.tuning.findings import described, keep

    path = keep(search, found, task, folder)
    pictures = _pictures(search, task, found, folder)
    files = {"best": None if path is None else str(path), "pictures": [str(each) for each in pictures]}
    return {**described(search, found, task), "files": files}


def _pictures(search: Search, task: Task, found: Sequence[Finding], folder: Path) -> list[Path]:
    """One picture for each hyper-parameter that is a number."""
    from tailormix.atomic import write_atomically
    from tailormix.experiments.tuning.objective import AXES
    from tailormix.reports.sensitivity import Point, sensitivity_diagram
    from tailormix.reports.style import image_bytes

    metrics = list(dict.fromkeys((search.objective, *AXES[task])))
    written = []
    for each in search.space:
        numbers = [f for f in found if f.scores and type(f.values[each.key]) in (int, float)]
        points = [
            Point(f.values[each.key], {**f.metrics, search.objective: f.score}, f.state == "complete")
            for f in numbers
        ]
        shown = [name for name in metrics if any(name in point.metrics for point in points)]
        for kind in ("svg", "png") if points else ():
            figure = sensitivity_diagram(points, each.key, shown, log=each.log)
            name = f"sensitivity-{each.key.replace('.', '-')}.{kind}"
            written.append(write_atomically(folder / name, image_bytes(figure, kind)))
    return written


def show(
    search: Search, task: Task, found: Sequence[Finding], record: Mapping[str, Any], folder: Path
) -> None:
    """Trials, sensitivity, trade-off and the best setting, as text."""
    from rich.console import Console

    console = Console()
    if trials := [row for row in record["trials"] if "score" in row]:
        title = f"best of {len(record['trials'])} settings"
        console.print(_table(title, _ranked(search, trials), record["objective"], task))
    for line in _sensitivity(search, found):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if len(record["pareto"]["trials"]) > 1:
        title = f"\nno setting beats these in both {' and '.join(record['pareto']['metrics'])}"
        console.print(_table(title, record["pareto"]["trials"], record["objective"], task))
    for line in _closing(search, record, folder):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _ranked(search: Search, trials: list[dict[str, Any]]) -> list[dict[str, Any]]:
    from tailormix.experiments.tuning.objective import is_larger_better

    sign = -1 if is_larger_better(search.objective) else 1
    return sorted(trials, key=lambda row: (row["state"] != "complete", sign * row["score"]))[:MOST_ROWS]


def _table(title: str, rows: list[dict[str, Any]], objective: str, task: Task) -> Any:
    from rich.table import Table

    from tailormix.experiments.tuning.objective import AXES

    keys = list(rows[0]["values"])
    axes = [axis for axis in AXES[task] if axis in rows[0]["metrics"] and axis != objective]
    table = Table(title=title, box=None, title_justify="left", header_style="bold", pad_edge=False)
    for column in (*keys, objective, *axes, "folds"):
        table.add_column(column, justify="right")
    for row in rows:
        cells = [_short(row["values"].get(key, "")) for key in keys]
        cells += [f"{row['score']:.4f} ± {row['std']:.4f}", *(f"{row['metrics'][axis]:.4f}" for axis in axes)]
        table.add_row(*cells, f"{len(row['scores'])}{'' if row['state'] == 'complete' else ' (given up)'}")
    return table


def _sensitivity(search: Search, found: Sequence[Finding]) -> list[str]:
    """A dot plot for each key."""
    from tailormix.experiments.tuning.findings import dot_plot, sensitivity

    lines: list[str] = []
    for each in search.space:
        if levels := sensitivity(found, each):
            lines += [f"\n{search.objective} by {each.key}", *dot_plot(levels)]
    return lines


def _closing(search: Search, found: Mapping[str, Any], folder: Path) -> list[str]:
    failed = [row for row in found["trials"] if "error" in row]
    lines = [f"failed: {row['values']}: {row['error']}" for row in failed]
    if found["best"] is None:
        return [*lines, "no setting ran on all folds"]
    values = ", ".join(f"{key} = {_short(value)}" for key, value in found["best"]["values"].items())
    lines.append(f"\nbest: {values}: {search.objective} {found['best']['score']:.4g}")
    lines.append(f"chosen on {len(search.folds)} folds without the test rows of seed {found['seed']}")
    lines.append(f"pictures and trials: {folder}")
    return [*lines, f"train it: tailormix train {found['files']['best']}"]


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
    from tailormix.experiments.tuning.findings import findings, under_way

    job = _job(experiment, (over or [], settings or []), splits, objective, pruner, trials, storage, out)
    if worker:
        _alone(job, silent_bar(), worker)
        return
    with bar(job.search, job.trials) as progress:
        stopped = _together(job, jobs, progress) if jobs > 1 else _alone(job, progress)
    study = job.study()
    found, busy = findings(study), under_way(study)
    record = finish(job.search, job.task, found, job.folder)
    if as_json:
        typer.echo(json.dumps({"storage": job.url, "under way": busy, **record}, indent=2))
    else:
        show(job.search, job.task, found, record, job.folder)
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
        from tailormix.experiments.experiment import read
        from tailormix.experiments.tuning.objective import objective_of, protocol_of
        from tailormix.experiments.tuning.space import space_of
        from tailormix.experiments.tuning.study import PRUNERS, Search, default_trials

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
    from tailormix.experiments.tuning.study import work_together

    study = job.study()

    def look() -> None:
        for trial in study.get_trials(deepcopy=False):
            bar.tell(trial)

    stopped, failed = work_together(job.arguments, jobs, job.folder, look)
    for log in failed:
        typer.echo(f"a process failed, see {log}", err=True)
    return stopped
