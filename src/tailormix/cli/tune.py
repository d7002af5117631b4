"""``tailormix tune``: search hyper-parameters, and show what was found."""

from __future__ import annotations

import contextlib
import json
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import optuna
    from optuna.trial import FrozenTrial
    from rich.table import Table

    from tailormix.data.splits import Task
    from tailormix.experiments.tuning.objective import Protocol
    from tailormix.experiments.tuning.study import Search
    from tailormix.training.progress import Reporter


MAX_ROWS = 12

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
    typer.Option(help="Splits per setting, as 2 or 4/10 (4 of 10 folds). Default: the paper's, by task."),
]
Objective = Annotated[
    str | None,
    typer.Option(help="trade-off (accuracy - ECE after temperature), accuracy, ece, nll, rmse, mape, ..."),
]
Pruner = Annotated[str, typer.Option(help="How lagging settings are pruned: median, hyperband or none.")]
Jobs = Annotated[int, typer.Option(min=1, help="Processes on this machine.")]
Storage = Annotated[
    str | None,
    typer.Option(
        envvar="TAILORMIX_STORAGE",
        help="Database URL that several machines share; one with a password belongs into the variable. "
        "Default: an SQLite file in --out.",
    ),
]
Out = Annotated[Path, typer.Option(file_okay=False, help="Folder of all searches.")]
Together = Annotated[
    bool,
    typer.Option(
        "--together", help="Train the settings of a grid as one batch of small models, fold by fold."
    ),
]
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
    together: Together = False,
    out: Out = Path("tuning"),
    as_json: Json = False,
    worker: Worker = 0,
) -> None:
    """Search hyper-parameters on folds of the training rows; the test rows take no part.

    Every fold of every setting is a run that `tailormix train` could repeat. After Ctrl-C the same command
    resumes. Writes the best setting as an experiment file.

    Example: tailormix tune digits-mlp --over method.tau_std=0.25,0.5,1 --over method.tau_max=log:0.1..10
    """
    if together and jobs > 1:
        raise typer.BadParameter(f"--together trains in one process: expected --jobs 1, got {jobs}")
    search, protocol = _search(experiment, over or [], settings or [], splits, objective, pruner)
    from tailormix.experiments.tuning.space import grid
    from tailormix.experiments.tuning.study import hide_password, open_study
    from tailormix.experiments.tuning.summary import BEST, write_results
    from tailormix.training import run_folder

    folder = out / search.study_name
    trials = trials or len(grid(search.space)) or 40
    url = storage or f"sqlite:///{(run_folder.prepare(folder) / 'study.db').resolve()}"
    study = open_study(search, url, trials=trials, pruner=pruner, worker=worker)
    run_folder.prepare(folder)
    if jobs > 1:
        arguments = [experiment, *(text for setting in search.settings for text in ("--set", setting))]
        arguments += [text for dimension in over or [] for text in ("--over", dimension)]
        arguments += ["--splits", f"{protocol.splits}/{protocol.folds}", "--objective", search.objective]
        arguments += ["--pruner", pruner, "--trials", str(trials), "--out", str(out)]
        stopped = _run_workers(study, search, folder, trials, arguments, url, jobs)
    else:
        stopped = _run(study, search, folder, trials, together)
    if worker:
        return
    found = write_results(search, study, folder)
    found["files"] = {"best": str(folder / BEST) if found["best"] else None}
    running = sum(trial.state.name == "RUNNING" for trial in study.get_trials(deepcopy=False))
    if as_json:
        typer.echo(json.dumps({"storage": hide_password(url, url), "under way": running, **found}, indent=2))
    else:
        _show(search, protocol.task, found, folder)
    if stopped:
        typer.echo("stopped: the same command resumes", err=True)
    elif running:
        hint = "if their process died, run the same command again in a minute"
        typer.echo(f"settings running in other processes: {running}; {hint}", err=True)
    if stopped:
        raise typer.Exit(128 + stopped)
    if found["best"] is None:
        raise typer.Exit(1)


def _search(
    experiment: str,
    over: Sequence[str],
    settings: Sequence[str],
    splits: str | None,
    objective: str | None,
    pruner: str,
) -> tuple[Search, Protocol]:
    """What the options mean; wrong ones raise before any work starts."""
    import optuna  # noqa: F401 - of all packages that may be missing, the one whose extra brings the others

    from tailormix import checks
    from tailormix.experiments.experiment import read
    from tailormix.experiments.tuning.objective import objective_of, protocol_of
    from tailormix.experiments.tuning.space import search_space
    from tailormix.experiments.tuning.study import PRUNERS, Search

    checks.known("pruner", pruner, PRUNERS)
    base = read(experiment, settings)
    space = search_space(base, over)
    protocol = protocol_of(base, splits)
    wanted = objective_of(protocol.task, objective)
    search = Search(experiment, tuple(settings), space, protocol.names, wanted)
    search.check()
    return search, protocol


def _run(study: optuna.Study, search: Search, folder: Path, trials: int, together: bool) -> int:
    """Run trials in this process; the signal that stopped it, or 0."""
    from tailormix.experiments.tuning.study import optimise, train_grid

    def say(text: str) -> None:
        typer.echo(f"note: {text}", err=True)

    with _bar(search, trials) as (on_trial, report):
        try:
            if together:
                train_grid(study, search, folder / "runs", trials=trials, report=report, say=say)
            optimise(study, search, folder / "runs", trials=trials, on_trial=on_trial, report=report)
        except KeyboardInterrupt as error:
            return int(getattr(error, "signal", signal.SIGINT))
    return 0


def _run_workers(
    study: optuna.Study,
    search: Search,
    folder: Path,
    trials: int,
    arguments: Sequence[str],
    url: str,
    jobs: int,
) -> int:
    """Run trials in several processes, and print those that end; the signal that stopped them, or 0."""
    from tailormix.experiments.tuning.study import has_ended, run_workers

    printed = {trial.number for trial in study.get_trials(deepcopy=False) if has_ended(trial)}
    with _bar(search, trials) as (on_trial, _):

        def poll() -> None:
            for trial in study.get_trials(deepcopy=False):
                if has_ended(trial) and trial.number not in printed:
                    printed.add(trial.number)
                    on_trial(trial)

        stopped, failed = run_workers(arguments, url, jobs, folder, poll)
    for log in failed:
        typer.echo(f"a process failed, see {log}", err=True)
    return stopped


@contextlib.contextmanager
def _bar(search: Search, trials: int) -> Iterator[tuple[Callable[[FrozenTrial], None], Reporter]]:
    """Two functions that show a trial and an epoch on stderr: one line per trial, and a bar on a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from tailormix.experiments.tuning.summary import as_dict
    from tailormix.training.progress import row_text

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    epoch = TextColumn("{task.fields[epoch]}")
    with Progress(*columns, epoch, console=console, disable=not console.is_terminal) as bars:
        task = bars.add_task(f"tune {search.study_name}", total=trials, epoch="")

        def on_trial(trial: FrozenTrial) -> None:
            bars.advance(task)
            console.print(trial_line(as_dict(trial)), soft_wrap=True, highlight=False, markup=False)

        def report(row: Mapping[str, Any], epochs: int) -> None:
            bars.update(task, epoch=f"epoch {row['epoch']}/{epochs} · {row_text(row)}")

        yield on_trial, report


def trial_line(trial: Mapping[str, Any]) -> str:
    """One trial in one line.

    >>> scores = {"score": 0.6, "std": 0.1414, "scores": [0.5, 0.7]}
    >>> trial_line({"trial": 3, "state": "pruned", "values": {"method.tau_std": 0.5}, **scores})
    'trial 3 pruned: method.tau_std=0.5: 0.6 ± 0.141 on 2 folds'
    """
    texts = [f"trial {trial['trial']} {trial['state']}"]
    texts += [", ".join(f"{key}={_short(value)}" for key, value in trial["values"].items())]
    if "score" in trial:
        folds = len(trial["scores"])
        texts += [f"{trial['score']:.4g} ± {trial['std']:.3g} on {folds} fold{'s' if folds > 1 else ''}"]
    return ": ".join(text for text in (*texts, trial.get("error", "")) if text)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _show(search: Search, task: Task, found: Mapping[str, Any], folder: Path) -> None:
    """Trials, sensitivity and the best setting, as text."""
    from rich.console import Console

    from tailormix.experiments.tuning.objective import direction

    console = Console()
    sign = -1 if direction(search.objective) == "maximize" else 1
    scored = [row for row in found["trials"] if "score" in row]
    scored.sort(key=lambda row: (row["state"] != "complete", sign * row["score"]))
    if scored:
        title = f"best of {len(found['trials'])} settings"
        console.print(_table(title, scored[:MAX_ROWS], search.objective, task))
    lines = []
    for key, levels in found["sensitivity"].items():
        if levels:
            lines += [f"\n{search.objective} by {key}", *dot_plot(levels)]
    lines += [f"failed: {row['values']}: {row['error']}" for row in found["trials"] if "error" in row]
    if best := found["best"]:
        values = ", ".join(f"{key} = {_short(value)}" for key, value in best["values"].items())
        lines += [
            f"\nbest: {values}: {search.objective} {best['score']:.4g}",
            f"chosen on {len(search.folds)} folds without the test rows of seed {found['seed']}",
            f"all trials: {folder}",
            f"train it: tailormix train {found['files']['best']}",
        ]
    else:
        lines += ["no setting ran on all folds"]
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _table(title: str, rows: Sequence[Mapping[str, Any]], objective: str, task: Task) -> Table:
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
        table.add_row(*cells, f"{len(row['scores'])}{'' if row['state'] == 'complete' else ' (pruned)'}")
    return table


def dot_plot(levels: Sequence[Mapping[str, Any]], width: int = 40) -> list[str]:
    """One line per value: its label, a dot between the smallest and the largest mean, and the mean.

    >>> dot_plot([{"value": "0.25", "mean": 1.0}, {"value": "0.5", "mean": 3.0}], width=3)
    ['0.25 ●··  1', ' 0.5 ··●  3']
    """
    means = [level["mean"] for level in levels]
    low, high = min(means), max(means)
    label_width = max(len(level["value"]) for level in levels)
    lines = []
    for level in levels:
        at = 0 if high == low else round((level["mean"] - low) / (high - low) * (width - 1))
        dots = f"{'·' * at}●{'·' * (width - 1 - at)}"
        lines.append(f"{level['value']:>{label_width}} {dots}  {level['mean']:.4g}")
    return lines
