"""``tailormix report``: one self-contained page of many runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from tailormix.reports.runs.groups import Problem


Runs = Annotated[
    list[Path],
    typer.Argument(
        exists=True, metavar="RUNS...", help="Run folders, or folders that hold some at any depth."
    ),
]
Out = Annotated[Path, typer.Option("--out", "-o", dir_okay=False, help="The page to write.")]
Title = Annotated[str | None, typer.Option(help="Title of the page; by default what the runs compare.")]
Json = Annotated[
    bool, typer.Option("--json", help="Print the summary as one JSON object instead of a table.")
]


def report(runs: Runs, out: Out = Path("report.html"), title: Title = None, as_json: Json = False) -> None:
    """Write one page of many runs: verdicts, tables, reliability, classes, learning curves, mixing and cost.

    Seeds of the same experiment are grouped. Runs that are unfinished or broken are named and left out.

    Example: tailormix report runs -o report.html
    """
    from rich.console import Console

    from tailormix.atomic import write_atomically
    from tailormix.reports.runs.groups import problems_of
    from tailormix.reports.runs.reading import read_runs
    from tailormix.reports.runs.report_page import report_page
    from tailormix.reports.runs.run_tables import summary_json

    if not out.parent.is_dir():
        raise typer.BadParameter(f"folder {out.parent} does not exist", param_hint="--out")
    found, skipped = read_runs(runs)
    if not found:
        reasons = "".join(f"\n  {one.path}: {one.reason}" for one in skipped)
        raise typer.BadParameter(f"no finished run among them{reasons}", param_hint="RUNS")
    problems = problems_of(found)
    try:
        with Console(stderr=True).status("drawing"):
            page = report_page(problems, skipped, title=title)
        write_atomically(out, page)
    except (ValueError, TypeError, OSError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from error
    for one in skipped:
        typer.echo(f"left out: {one.path}: {one.reason}", err=True)
    if as_json:
        summary = {"page": str(out), **summary_json(problems, skipped)}
        typer.echo(json.dumps(summary, indent=2, allow_nan=False))
        return
    for problem in problems:
        Console().print(_summary(problem))
    typer.echo(f"The page: {out}")


def _summary(problem: Problem) -> Table:
    """The main metrics; a line per experiment, and one after calibration, so that 80 columns are enough."""
    from rich.table import Table
    from rich.text import Text

    from tailormix.reports.numbers import mean_text
    from tailormix.reports.runs.run_tables import (
        BEFORE,
        FITTED,
        SHORT,
        fitted_value,
        metric_cells,
        metric_title,
        stages_of,
    )

    table = Table(title=Text(problem.title), title_justify="left", box=None, header_style="bold")
    table.add_column("method", overflow="fold")
    names = SHORT[problem.task]
    for name in names:
        table.add_column(metric_title(name), justify="right", no_wrap=True)
    cells = {
        (name, stage): [cell.text for cell in metric_cells(problem, name, stage)]
        for name in names
        for stage in stages_of(problem, name)
    }
    nothing = [""] * len(problem.groups)
    for number, group in enumerate(problem.groups):
        table.add_row(Text(group.label), *(cells.get((name, BEFORE), nothing)[number] for name in names))
        if problem.after in group.stages():
            after = f"  after {FITTED[problem.task][0]} {mean_text(fitted_value(group))}"
            table.add_row(after, *(cells.get((name, problem.after), nothing)[number] for name in names))
    return table
