"""``tailormix data``: list, get and verify data sets."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tailormix.cli.progress import bars

if TYPE_CHECKING:
    from collections.abc import Sequence


app = typer.Typer(
    no_args_is_help=True, help="List, get and verify data sets.", epilog="Example: tailormix data list"
)

Names = Annotated[list[str], typer.Argument(help="Names as `tailormix data list` shows them.")]
Root = Annotated[
    Path | None,
    typer.Option(
        file_okay=False, help="Folder of all data sets. Default: TAILORMIX_DATA, else the user's cache."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


@app.command("list", short_help="List data sets.", epilog="Example: tailormix data list")
def list_(root: Root = None, as_json: Json = False) -> None:
    """List the data sets, and which of them are on this machine."""
    from tailormix.data.files.location import data_root
    from tailormix.data.files.verify import state
    from tailormix.data.registry import DATASETS

    folder = data_root(root)
    rows = [
        {
            "name": name,
            "task": entry.task,
            "files": state(name, folder) if entry.files else entry.source,
            "summary": entry.summary,
        }
        for name, entry in DATASETS.items()
    ]
    if as_json:
        typer.echo(json.dumps({"root": str(folder), "datasets": rows}, indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"Data sets in {folder}", box=None, title_justify="left")
    for column in ("name", "task", "files", "summary"):
        table.add_column(column, no_wrap=column != "summary")
    for row in rows:
        table.add_row(*row.values())
    Console().print(table)


@app.command(short_help="Download data sets.", epilog="Example: tailormix data get cifar10 airfoil")
def get(names: Names, root: Root = None, as_json: Json = False) -> None:
    """Download what is missing: checked, resumed after an interruption, unpacked safely."""
    from tailormix.data.files.download import get as download
    from tailormix.data.files.location import DataError, data_root

    folder = data_root(root)
    results: dict[str, str] = {}
    for name in _published(names):
        with bars(size=True) as progress:
            try:  # a data set that fails does not stop the others
                fetched = download(name, folder, partial(progress, name))
                results[name] = "fetched" if fetched else "was there"
            except DataError as error:
                results[name] = str(error)
    _finish(results, folder, as_json, good=("fetched", "was there"))


@app.command(short_help="Check the files of data sets.", epilog="Example: tailormix data verify cifar10")
def verify(
    names: Annotated[list[str] | None, typer.Argument(help="Default: all on this machine.")] = None,
    root: Root = None,
    as_json: Json = False,
) -> None:
    """Read every file and compare it with what is published."""
    from tailormix.data.files.location import data_root
    from tailormix.data.files.verify import verify as problems_of
    from tailormix.data.registry import DATASETS

    folder = data_root(root)
    here = [
        name for name, entry in DATASETS.items() if entry.files and (folder / entry.files.folder).is_dir()
    ]
    results: dict[str, str] = {}
    for name in _published(names) if names else here:
        problems = problems_of(name, folder)
        results[name] = "; ".join(map(str, problems)) or "whole"
    if not results:
        typer.echo(f"no published data sets in {folder}", err=True)
    _finish(results, folder, as_json, good=("whole",))


def _published(names: Sequence[str]) -> list[str]:
    """The names, each once; all are checked before any work starts."""
    from tailormix import checks
    from tailormix.data.registry import DATASETS

    for name in names:
        if DATASETS[checks.known("data set", name, DATASETS)].files is None:
            raise ValueError(f"{name} is {DATASETS[name].source}: it has no published files")
    return list(dict.fromkeys(names))


def _finish(results: dict[str, str], folder: Path, as_json: bool, good: tuple[str, ...]) -> None:
    """Print one line per data set; exit with 1 if any is not ``good``."""
    if as_json:
        typer.echo(json.dumps({"root": str(folder), "results": results}, indent=2))
    for name, result in results.items():
        if not as_json or result not in good:
            typer.echo(f"{name}: {result}", err=result not in good)
    if any(result not in good for result in results.values()):
        raise typer.Exit(1)
