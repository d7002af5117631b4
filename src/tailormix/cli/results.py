"""``tailormix results``: pages of all results, made from the files that ``reproduce`` and ``study`` write."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tailormix.studies.raw import RawRow
    from tailormix.studies.study import Study as StudyFile

Results = Annotated[Path, typer.Option("--folder", file_okay=False, help="Folder of JSON and CSV files.")]
Study = Annotated[
    list[Path] | None,
    typer.Option("--study", help="The .toml file of a study of yours, whose CSV file is in the folder."),
]
Check = Annotated[bool, typer.Option("--check", help="Write nothing; exit with 1 if a page would change.")]


def results(folder: Results = Path("docs/results"), study: Study = None, check: Check = False) -> None:
    """Write the pages of all results: paper.md with claims and verdicts, and a page with pictures per study.

    Example: tailormix results --folder docs/results
    """
    from tailormix.atomic import write_atomically
    from tailormix.studies.study import read_study

    try:
        own = [read_study(path) for path in study or ()]
    except (ValueError, TypeError) as error:
        raise typer.BadParameter(str(error), param_hint="--study") from error
    try:
        found = pages(folder, own)
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
        _draw(folder, own)


def pages(folder: Path, own: Sequence[StudyFile] = ()) -> dict[Path, str]:
    """What the pages should hold, by their paths; ``own`` are studies that are not shipped."""
    from tailormix.studies.page import study_page

    studies = studies_of(folder, own)
    found = {folder / f"{study.name}.md": study_page(study, rows) for study, rows in studies}
    if not studies or any(folder.glob("*.json")):
        found[folder / "paper.md"] = paper_page(folder)
    return found


def studies_of(folder: Path, own: Sequence[StudyFile] = ()) -> list[tuple[StudyFile, list[RawRow]]]:
    """Every shipped study that has a CSV file here, and those of one's own, with the rows of that file."""
    from tailormix.studies.raw import read_csv
    from tailormix.studies.study import STUDIES, read_study

    shipped = [name for name in STUDIES if (folder / f"{name}.csv").is_file()]
    found = []
    for study in [*map(read_study, shipped), *own]:
        path = folder / f"{study.name}.csv"
        if not path.is_file():
            raise ValueError(f"there is no {path}: tailormix study FILE --results {folder} writes it")
        rows = read_csv(path)
        found.append((study.with_rows_of(rows), rows))
    return found


def paper_page(folder: Path) -> str:
    """The page of the paper's tables, figures and claims."""
    from tailormix.paper.claims import evaluate_claim, read_claims
    from tailormix.paper.results import read_all_results
    from tailormix.paper.results_page import results_page
    from tailormix.paper.tables import NAMES
    from tailormix.studies.summary import as_results

    results = read_all_results(folder)
    known = results | {study.name: as_results(rows) for study, rows in studies_of(folder) if rows}
    evaluated = [evaluate_claim(claim, known) for claim in read_claims()]
    places = {name: place for place, name in enumerate(NAMES)}  # tables that are not the paper's come last
    ordered = sorted(results.values(), key=lambda one: places.get(one["table"], len(places)))
    return results_page(ordered, evaluated, ".")


def _draw(folder: Path, own: Sequence[StudyFile]) -> None:
    """Write the pictures of every study, and one of all."""
    from tailormix.atomic import write_atomically
    from tailormix.reports.style import image_bytes
    from tailormix.studies.pictures import overview, settings_of, study_pictures

    studies = studies_of(folder, own)
    found = {study.name: rows for study, rows in studies}
    pictures = {"overview.png": overview(found)} if settings_of(found) else {}
    for study, rows in studies:
        pictures |= study_pictures(study, rows)
    for file, figure in pictures.items():
        write_atomically(folder / file, image_bytes(figure))
