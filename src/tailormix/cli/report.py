"""``tailormix report``: one self-contained page of many runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from tailormix.reports.run_groups import Problem


Runs = Annotated[
    list[Path],
    typer.Argument(
        exists=True, metavar="RUNS...", help="Run folders, or folders that hold some at any depth."
    ),
]
Out = Annotated[Path, typer.Option("--out", "-o", dir_okay=False, help="The page to write.")]
Title = Annotated[str, typer.Option(help="Title of the page.")]
Json = Annotated[
    bool, typer.Option("--json", help="Print the summary as one JSON object instead of a table.")
]


def report(
    runs: Runs, out: Out = Path("report.html"), title: Title = "Runs, side by side", as_json: Json = False
) -> None:
    """Write one page of many runs: sortable table, reliability, learning curves, mixing, cost and settings.

    Seeds of the same experiment are grouped. Runs that are unfinished or broken are named and left out.

    Example: tailormix report runs -o report.html
    """
    from rich.console import Console

    from tailormix.atomic import write_atomically
    from tailormix.reports.report_page import report_page
    from tailormix.reports.run_groups import problems_of
    from tailormix.reports.run_tables import summary_json
    from tailormix.reports.runs import read_runs

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
    from rich.table import Table

    from tailormix.reports.run_tables import SHORT, metric_table

    found = metric_table(problem, SHORT[problem.task])
    table = Table(title=problem.title, title_justify="left", box=None, header_style="bold")
    table.add_column("method", no_wrap=True)
    for name, small in found.headings:
        table.add_column(f"{name}\n{small}", justify="right")
    for group, cells in found.rows:
        texts = (one.text.replace(" ± ", "±") for one in cells)  # narrow, for terminals
        table.add_row(group.label, *texts)
    return table
