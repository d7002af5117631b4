"""The command line. Imports of heavy packages happen inside the commands that need them."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from tailormix.commands.bench import bench
from tailormix.commands.data import app as data_app
from tailormix.commands.evaluate import evaluate
from tailormix.commands.report import report
from tailormix.commands.reproduce import reproduce
from tailormix.commands.results import results
from tailormix.commands.train import train
from tailormix.commands.tune import tune

app = typer.Typer(
    no_args_is_help=True, add_completion=True, help="Train models whose confidence can be trusted."
)

app.add_typer(data_app, name="data")
app.command()(train)
app.command()(tune)
app.command()(bench)
app.command()(evaluate)
app.command()(reproduce)
app.command()(results)
app.command()(report)

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


@app.callback()
def about() -> None:
    """Train models whose confidence can be trusted."""


@app.command("list")
def list_(
    family: Annotated[
        str,
        typer.Argument(
            help="What to list: methods, losses, models, datasets, experiments, tables.", metavar="FAMILY"
        ),
    ],
    as_json: Json = False,
) -> None:
    """List what there is, by the names that every other command takes.

    Example: tailormix list methods
    """
    from tailormix import checks
    from tailormix.listing import FAMILIES

    try:
        rows = FAMILIES[checks.known("family", family, FAMILIES)]()
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    if as_json:
        typer.echo(json.dumps(rows, indent=2, default=str))
    else:
        _print_table(rows)


def _print_table(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in rows[0]:
        table.add_column(column, overflow="fold", no_wrap=column == "name")
    for row in rows:
        table.add_row(*(_cell(value) for value in row.values()))
    Console().print(table)


def _cell(value: Any) -> str:
    return ", ".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else str(value)


def main() -> None:
    """Run the command line."""
    app()
