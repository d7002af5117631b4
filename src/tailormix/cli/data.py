"""``tailormix data``: list, get and verify data sets."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tailormix.data.files.download import Progress


app = typer.Typer(no_args_is_help=True, help="List, get and verify data sets.")

Names = Annotated[list[str], typer.Argument(help="Names as `tailormix data list` shows them.")]
Root = Annotated[
    Path | None,
    typer.Option(help="Folder of all data sets. Default: TAILORMIX_DATA, else the user's cache."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


@app.command("list", epilog="Example: tailormix data list")
def list_(root: Root = None, as_json: Json = False) -> None:
    """Say which data sets there are, and which of them lie on this machine."""
    from tailormix.data.files.location import data_root
    from tailormix.data.registry import DATASETS

    folder = data_root(root)
    rows = [
        {"name": name, "task": entry.task, "files": _files(name, folder), "summary": entry.summary}
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


@app.command(epilog="Example: tailormix data get cifar10 airfoil")
def get(names: Names, root: Root = None, as_json: Json = False) -> None:
    """Download what is missing: checked, resumed after an interruption, unpacked safely."""
    from tailormix.data.files.download import get as fetch
    from tailormix.data.files.location import data_root

    folder = data_root(root)
    results: dict[str, str] = {}
    for name in _published(names):
        with _reported(name, results), _bar(name) as progress:
            results[name] = "fetched" if fetch(name, folder, progress) else "was there"
    _finish(results, folder, as_json, good=("fetched", "was there"))


@app.command(epilog="Example: tailormix data verify cifar10")
def verify(
    names: Annotated[list[str] | None, typer.Argument(help="Default: all that lie on this machine.")] = None,
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
    _finish(results, folder, as_json, good=("whole",))


def _files(name: str, folder: Path) -> str:
    from tailormix.data.files.verify import state
    from tailormix.data.registry import DATASETS

    return state(name, folder) if DATASETS[name].files else DATASETS[name].source


def _published(names: Sequence[str]) -> list[str]:
    """Check all names before any work starts; wrong ones are wrong use (exit code 2)."""
    from tailormix import checks
    from tailormix.data.registry import DATASETS

    try:
        for name in names:
            checks.known("data set", name, DATASETS)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    for name in names:
        if DATASETS[name].files is None:
            raise typer.BadParameter(f"{name} is {DATASETS[name].source}: it has no published files")
    return list(dict.fromkeys(names))


@contextlib.contextmanager
def _reported(name: str, results: dict[str, str]) -> Iterator[None]:
    """One data set that fails does not stop the others."""
    from tailormix.data.files.location import DataError

    try:
        yield
    except DataError as error:
        results[name] = str(error)


@contextlib.contextmanager
def _bar(name: str) -> Iterator[Progress]:
    """Draw a bar on stderr while bytes arrive; only terminals see it."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        task = bars.add_task(name, total=None)

        def show(done: int, total: int | None) -> None:
            bars.update(task, completed=done, total=total)

        yield show


def _finish(results: dict[str, str], folder: Path, as_json: bool, good: tuple[str, ...]) -> None:
    """Print one line a data set; exit with 1 if any is not ``good``."""
    if as_json:
        typer.echo(json.dumps({"root": str(folder), "results": results}, indent=2))
    for name, result in results.items():
        if not as_json or result not in good:
            typer.echo(f"{name}: {result}", err=result not in good)
    if any(result not in good for result in results.values()):
        raise typer.Exit(1)
