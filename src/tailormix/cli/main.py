"""The command line. Imports of heavy packages happen inside the commands that need them."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from tailormix.cli.data import app as data_app
from tailormix.cli.errors import Commands
from tailormix.cli.evaluate import evaluate
from tailormix.cli.export import export
from tailormix.cli.features import features
from tailormix.cli.predict import predict
from tailormix.cli.report import report
from tailormix.cli.reproduce import reproduce
from tailormix.cli.results import results
from tailormix.cli.study import study
from tailormix.cli.train import train
from tailormix.cli.tune import tune

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode=None,  # plain text: nothing breaks a line, on a terminal or in a log
    pretty_exceptions_enable=False,
)
app.add_typer(data_app, name="data")
for command, summary in (
    (train, "Train and evaluate an experiment."),
    (tune, "Search hyper-parameters."),
    (evaluate, "Evaluate a file of predictions."),
    (reproduce, "Run a table of the paper."),
    (study, "Compare methods over data sets, tuned alike."),
    (results, "Write the page of all results."),
    (report, "Write one page of many runs."),
    (features, "Make features of texts or images by a pretrained model."),
    (predict, "Predict new data by a finished run."),
    (export, "Write a finished run as one program."),
):
    app.command(short_help=summary)(command)

FAMILIES = ("methods", "losses", "models", "datasets", "experiments", "studies", "tables")
Family = Annotated[str, typer.Argument(help=f"What to list: {', '.join(FAMILIES)}.", metavar="FAMILY")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def _print_version(wanted: bool) -> None:
    from tailormix import __version__

    if wanted:
        typer.echo(f"tailormix {__version__}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
]


@app.callback(epilog="Example: tailormix train moons")
def tailormix(version: Version = False) -> None:
    """Train models whose confidence can be trusted."""


@app.command("list", short_help="List methods, losses, models, data sets and more.")
def list_(family: Family, as_json: Json = False) -> None:
    """List what there is, by the names that every other command takes.

    Example: tailormix list methods
    """
    from tailormix import checks

    checks.known("family", family, FAMILIES)
    rows = [{"name": name, **columns} for name, columns in _entries(family).items()]
    if as_json:
        typer.echo(json.dumps(rows, indent=2, default=str))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in rows[0]:
        table.add_column(column, overflow="fold", no_wrap=column == "name")
    for row in rows:
        table.add_row(*(_cell(value) for value in row.values()))
    Console().print(table)


def _entries(family: str) -> dict[str, dict[str, Any]]:
    """The columns of every entry of a family, by name."""
    if family == "methods":
        from tailormix.methods import METHODS

        return {
            name: {
                "what": method.summary,
                "paper": method.section,
                "defaults": method.defaults,
                "samples forwarded": method.passes,
            }
            for name, method in METHODS.items()
        }
    if family == "losses":
        from tailormix.losses.registry import LOSSES

        return {
            name: {
                "what": loss.summary,
                "paper": loss.section,
                "defaults": loss.defaults,
                "soft targets": "yes" if loss.soft_targets else "no",
            }
            for name, loss in LOSSES.items()
        }
    if family == "models":
        from tailormix.models.registry import MODELS

        return {name: {"what": model.summary, "inputs": model.kind} for name, model in MODELS.items()}
    if family == "datasets":
        from tailormix.data.registry import DATASETS

        return {
            name: {"what": dataset.summary, "task": dataset.task, "source": dataset.source}
            for name, dataset in DATASETS.items()
        }
    if family == "experiments":
        from tailormix.experiments.experiment import EXPERIMENTS

        return {name: {"what": values["summary"]} for name, values in EXPERIMENTS.items()}
    if family == "studies":
        from tailormix.studies.study import STUDIES, read_study

        studies = {name: read_study(name) for name in STUDIES}
        return {
            name: {
                "what": one.title,
                "data sets": len(one.data),
                "rows": len(one.rows),
                "seeds": one.seeds,
                "candidates": one.budget,
            }
            for name, one in studies.items()
        }
    from tailormix.paper.tables import NAMES, read_data

    tables = {name: read_data(name) for name in NAMES}
    return {
        name: {"what": table["title"], "kind": table["kind"], "paper": table.get("section", "")}
        for name, table in tables.items()
    }


def _cell(value: Any) -> str:
    return ", ".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else str(value)


def main() -> None:
    """Run the command line."""
    app()
