"""``tailormix results``: pages of all results, made from the files that ``reproduce`` and ``study`` write."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tailormix.studies.raw import RawRow

Results = Annotated[Path, typer.Option("--folder", file_okay=False, help="Folder of JSON and CSV files.")]
Check = Annotated[bool, typer.Option("--check", help="Write nothing; exit with 1 if a page would change.")]


def results(folder: Results = Path("docs/results"), check: Check = False) -> None:
    """Write the pages of all results: paper.md with claims and verdicts, and a page with pictures per study.

    Example: tailormix results --folder docs/results
    """
    from tailormix.atomic import write_atomically

    try:
        found = pages(folder)
    except (ValueError, OSError) as error:
        raise typer.BadParameter(str(error), param_hint="--folder") from error
    changed = {
        path: text for path, text in found.items() if not path.is_file() or path.read_text("utf-8") != text
    }
    if check and changed:
        names = ", ".join(map(str, changed))
        typer.echo(f"{names}: not what the files give: tailormix results --folder {folder}", err=True)
        raise typer.Exit(1)
    for path, text in changed.items():
        write_atomically(path, text)
        typer.echo(f"{path} written")
    if not check:
        _draw(folder)


def pages(folder: Path) -> dict[Path, str]:
    """What the pages should hold, by their paths."""
    from tailormix.studies.page import study_page
    from tailormix.studies.study import read_study

    studies = study_rows(folder)
    found = {folder / f"{name}.md": study_page(read_study(name), rows) for name, rows in studies.items()}
    if not studies or any(folder.glob("*.json")):
        found[folder / "paper.md"] = paper_page(folder)
    return found


def study_rows(folder: Path) -> dict[str, list[RawRow]]:
    """The rows of every study that has a CSV file here."""
    from tailormix.studies.raw import read_csv
    from tailormix.studies.study import STUDIES

    return {name: read_csv(path) for name in STUDIES if (path := folder / f"{name}.csv").is_file()}


def paper_page(folder: Path) -> str:
    """The page of the paper's tables, figures and claims."""
    from tailormix.paper.claims import evaluate_claim, read_claims
    from tailormix.paper.results import read_all_results
    from tailormix.paper.results_page import results_page
    from tailormix.paper.tables import NAMES
    from tailormix.studies.summary import as_results

    results = read_all_results(folder)
    known = results | {name: as_results(rows) for name, rows in study_rows(folder).items()}
    evaluated = [evaluate_claim(claim, known) for claim in read_claims()]
    places = {name: place for place, name in enumerate(NAMES)}  # tables that are not the paper's come last
    ordered = sorted(results.values(), key=lambda one: places.get(one["table"], len(places)))
    return results_page(ordered, evaluated, ".")


def _draw(folder: Path) -> None:
    """Write the pictures of every study, and one of all."""
    from tailormix.atomic import write_atomically
    from tailormix.reports.style import image_bytes
    from tailormix.studies.pictures import overview, settings_of, study_pictures
    from tailormix.studies.study import read_study

    found = study_rows(folder)
    pictures = {"overview.png": overview(found)} if settings_of(found) else {}
    for name, rows in found.items():
        pictures |= study_pictures(read_study(name), rows)
    for file, figure in pictures.items():
        write_atomically(folder / file, image_bytes(figure))
