"""``tailormix results``: the page of all results, made from the files that ``reproduce --results`` writes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

Results = Annotated[Path, typer.Option("--folder", file_okay=False, help="Folder of JSON files.")]
Output = Annotated[Path, typer.Option("--output", "-o", dir_okay=False, help="The page to write.")]
Check = Annotated[bool, typer.Option("--check", help="Write nothing; exit with 1 if the page would change.")]


def results(
    folder: Results = Path("docs/results"),
    output: Output = Path("docs/results.md"),
    check: Check = False,
) -> None:
    """Write the page of all results: claims with verdicts, tables, figures.

    Example: tailormix results -o docs/results.md
    """
    from tailormix.atomic import write_atomically

    try:
        text = page(folder, output)
    except (ValueError, OSError) as error:
        raise typer.BadParameter(str(error), param_hint="--folder") from error
    if output.is_file() and output.read_text("utf-8") == text:
        return
    if check:
        typer.echo(f"{output} is not what {folder} gives: tailormix results -o {output}", err=True)
        raise typer.Exit(1)
    output.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(output, text)
    typer.echo(f"{output} written")


def page(folder: Path, output: Path) -> str:
    """What the page should hold."""
    from tailormix.paper.claims import evaluate_claim, read_claims
    from tailormix.paper.results import read_all_results
    from tailormix.paper.results_page import results_page
    from tailormix.paper.tables import NAMES

    results = read_all_results(folder)
    evaluated = [evaluate_claim(claim, results) for claim in read_claims()]
    places = {name: place for place, name in enumerate(NAMES)}  # tables that are not the paper's come last
    ordered = sorted(results.values(), key=lambda one: places.get(one["table"], len(places)))
    link = Path(os.path.relpath(folder, output.parent)).as_posix()
    return results_page(ordered, evaluated, link)
