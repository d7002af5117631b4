"""``tailormix results``: the page of all results, made from the files that ``reproduce --results`` keeps."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

Results = Annotated[Path, typer.Option("--folder", file_okay=False, help="Folder of JSON files.")]
Output = Annotated[Path, typer.Option("--output", "-o", dir_okay=False, help="The page to write.")]
Readme = Annotated[
    Path | None,
    typer.Option(dir_okay=False, help="A file whose lines between the results markers are renewed too."),
]
Check = Annotated[bool, typer.Option("--check", help="Write nothing; exit with 1 if a file would change.")]


def results(
    folder: Results = Path("docs/results"),
    output: Output = Path("docs/results.md"),
    readme: Readme = None,
    check: Check = False,
) -> None:
    """Write the page of all results: claims with verdicts, tables, figures.

    Example: tailormix results -o docs/results.md --readme README.md
    """
    from tailormix.atomic import write_atomically

    try:
        texts = pages(folder, output, readme)
    except (ValueError, OSError) as error:
        raise typer.BadParameter(str(error)) from error
    stale = [path for path, text in texts.items() if not path.is_file() or path.read_text("utf-8") != text]
    for path in stale:
        if check:
            typer.echo(f"{path} is not what {folder} gives: tailormix results -o {output}", err=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, texts[path])
            typer.echo(f"{path} written")
    if check and stale:
        raise typer.Exit(1)


def pages(folder: Path, output: Path, readme: Path | None = None) -> dict[Path, str]:
    """What the files should hold."""
    from tailormix.paper.claims import judged, read_claims
    from tailormix.paper.results import read_records
    from tailormix.paper.results_page import front_block, put_between, results_page

    records = read_records(folder)
    claims = read_claims()
    verdicts = judged(claims["claims"], records)
    texts = {output: results_page(_ordered(records), verdicts, _way(output, folder))}
    if readme is not None:
        front = [_narrowed(records[name], few) for name, few in claims["front"].items() if name in records]
        block = front_block(front, verdicts, _way(readme, output), _way(readme, folder))
        texts[readme] = put_between(readme.read_text(encoding="utf-8"), block)
    return texts


def _ordered(records: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """In the order of the catalogue; tables of one's own come last."""
    from tailormix.paper.tables import PAPER

    places = {name: place for place, name in enumerate(PAPER)}
    return sorted(records.values(), key=lambda record: places.get(record["table"], len(places)))


def _narrowed(record: dict[str, Any], few: list[str]) -> dict[str, Any]:
    """The record with a few columns only; all of them where none is named."""
    settings = [
        {**setting, "columns": [column for column in setting["columns"] if not few or column["name"] in few]}
        for setting in record["settings"]
    ]
    return {**record, "settings": settings}


def _way(page: Path, target: Path) -> str:
    """The relative link from a page to a file or folder."""
    return Path(os.path.relpath(target, page.parent)).as_posix()
