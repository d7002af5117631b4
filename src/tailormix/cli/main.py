"""The command line. Imports of heavy packages happen inside the commands that need them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tailormix.cli.data import app as data_app
from tailormix.cli.evaluate import evaluate
from tailormix.cli.report import report
from tailormix.cli.reproduce import reproduce
from tailormix.cli.results import results
from tailormix.cli.train import train
from tailormix.cli.tune import tune

if TYPE_CHECKING:
    from collections.abc import Callable


Row = dict[str, Any]


def methods() -> list[Row]:
    """Name, one line, section of the paper, defaults and cost of every method."""
    from tailormix.methods import METHODS

    return [
        {
            "name": name,
            "what": entry.summary,
            "paper": entry.section,
            "defaults": entry.defaults,
            "samples forwarded": entry.passes,
        }
        for name, entry in METHODS.items()
    ]


def losses() -> list[Row]:
    """Name, one line, section of the paper and defaults of every loss."""
    from tailormix.losses.registry import LOSSES

    return [
        {
            "name": name,
            "what": record.summary,
            "paper": record.section,
            "defaults": record.defaults,
            "soft targets": "yes" if record.soft_targets else "no",
        }
        for name, record in LOSSES.items()
    ]


def models() -> list[Row]:
    """Name, one line and kind of input of every model."""
    from tailormix.models.registry import MODELS

    return [{"name": name, "what": m.summary, "inputs": m.kind} for name, m in MODELS.items()]


def datasets() -> list[Row]:
    """Name, one line, task and origin of every data set."""
    from tailormix.data.registry import DATASETS

    return [
        {"name": name, "what": d.summary, "task": d.task, "source": d.source} for name, d in DATASETS.items()
    ]


def experiments() -> list[Row]:
    """Name and one line of every experiment that ships with the package."""
    from tailormix.experiments.experiment import EXPERIMENTS

    return [{"name": name, "what": e["summary"]} for name, e in EXPERIMENTS.items()]


def tables() -> list[Row]:
    """Name, title, kind, section and runs of every table and figure that ``reproduce`` knows."""
    from tailormix.paper.tables import PAPER

    values = {name: paper.values for name, paper in PAPER.items()}
    return [
        {"name": name, "what": v["title"], "kind": v["kind"], "paper": v.get("section", "")}
        for name, v in values.items()
    ]


FAMILIES: dict[str, Callable[[], list[Row]]] = {
    "methods": methods,
    "losses": losses,
    "models": models,
    "datasets": datasets,
    "experiments": experiments,
    "tables": tables,
}

app = typer.Typer(
    no_args_is_help=True, add_completion=True, help="Train models whose confidence can be trusted."
)

app.add_typer(data_app, name="data")
app.command()(train)
app.command()(tune)
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
