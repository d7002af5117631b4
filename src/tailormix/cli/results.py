"""``tailormix results``: the page of all results, made from the files that ``reproduce --results`` writes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

Results = Annotated[Path, typer.Option("--folder", file_okay=False, help="Folder of JSON files.")]
Output = Annotated[Path, typer.Option("--output", "-o", dir_okay=False, help="The page to write.")]
Readme = Annotated[
    Path | None,
    typer.Option(dir_okay=False, help="A file whose lines between the results markers are replaced too."),
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
    from tailormix.paper.claims import evaluate_claim, read_claims
    from tailormix.paper.results import read_all_results
    from tailormix.paper.results_page import front_section, replace_between_markers, results_page
    from tailormix.paper.tables import NAMES

    results = read_all_results(folder)
    claims = read_claims()
    evaluated = [evaluate_claim(claim, results) for claim in claims["claims"]]
    places = {name: place for place, name in enumerate(NAMES)}  # tables that are not the paper's come last
    ordered = sorted(results.values(), key=lambda one: places.get(one["table"], len(places)))
    texts = {output: results_page(ordered, evaluated, _link(output, folder))}
    if readme is not None:
        front = [
            _with_columns(results[name], few) for name, few in claims["front"].items() if name in results
        ]
        section = front_section(front, evaluated, _link(readme, output), _link(readme, folder))
        texts[readme] = replace_between_markers(readme.read_text(encoding="utf-8"), section)
    return texts


def _with_columns(results: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """The results with these columns only; all of them where none is named."""
    settings = [
        {**setting, "columns": [c for c in setting["columns"] if not names or c["name"] in names]}
        for setting in results["settings"]
    ]
    return {**results, "settings": settings}


def _link(page: Path, target: Path) -> str:
    """The relative link from a page to a file or folder."""
    return Path(os.path.relpath(target, page.parent)).as_posix()
