"""What ``tailormix tune`` shows: a bar while it works, and tables, plots and files at the end."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import optuna

    from tailormix.data.access.record import Task
    from tailormix.experiments.tuning.findings import Finding
    from tailormix.experiments.tuning.search import Search

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
        from tailormix.training.reporting import sentence as words

        self.step(f"epoch {row['epoch']}/{epochs} · {words(row)}")


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
    from tailormix.experiments.tuning.keeping import described, keep

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
