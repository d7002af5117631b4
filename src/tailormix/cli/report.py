"""``tailormix report``: one self-contained page of many runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tailormix.reports.runs import Problem, Skipped


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

    Seeds of the same experiment are put together. Runs that are unfinished or broken are named and left out.

    Example: tailormix report runs -o report.html
    """
    from tailormix.reports.runs import problems_of, read_runs

    if not out.parent.is_dir():
        raise typer.BadParameter(f"folder {out.parent} does not exist", param_hint="--out")
    found, skipped = read_runs(runs)
    if not found:
        reasons = "".join(f"\n  {one.path}: {one.reason}" for one in skipped)
        raise typer.BadParameter(f"no finished run among them{reasons}", param_hint="RUNS")
    problems = problems_of(found)
    try:
        _write(out, problems, skipped, title)
    except (ValueError, TypeError, OSError, ImportError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from error
    _tell(problems, skipped, out, as_json)


def _write(out: Path, problems: Sequence[Problem], skipped: Sequence[Skipped], title: str) -> None:
    from rich.console import Console

    from tailormix.atomic import write_atomically
    from tailormix.reports.report_page import report_page

    with Console(stderr=True).status("drawing"):
        page = report_page(problems, skipped, title=title)
    write_atomically(out, page)


def _tell(problems: Sequence[Problem], skipped: Sequence[Skipped], out: Path, as_json: bool) -> None:
    from tailormix.reports.run_tables import summarised

    for one in skipped:
        typer.echo(f"left out: {one.path}: {one.reason}", err=True)
    if as_json:
        typer.echo(json.dumps({"page": str(out), **summarised(problems, skipped)}, indent=2, allow_nan=False))
        return
    for problem in problems:
        _show(problem)
    typer.echo(f"The page: {out}")


def _show(problem: Problem) -> None:
    from rich.console import Console
    from rich.table import Table

    from tailormix.reports.run_tables import SHORT, metric_table

    found = metric_table(problem, SHORT[problem.task])
    table: Any = Table(title=problem.title, title_justify="left", box=None, header_style="bold")
    table.add_column("method", no_wrap=True)
    for name, small in found.headings:
        table.add_column(f"{name}\n{small}", justify="right")
    for group, cells in found.rows:
        texts = (one.text.replace(" ± ", "±") for one in cells)  # narrow, for terminals
        table.add_row(group.label, *texts)
    Console().print(table)
