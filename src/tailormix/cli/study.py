"""``tailormix study``: data sets × methods × seeds, tuned alike, as raw results and a page."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tailormix.studies.study import Row, Study

Name = Annotated[str, typer.Argument(help="A study (tailormix list studies) or a .toml file.")]
Data = Annotated[str, typer.Option(help="Data sets: names or patterns, with commas.")]
Rows = Annotated[str, typer.Option(help="Rows: names or patterns, with commas.")]
Seeds = Annotated[
    str | None, typer.Option(help="Seeds, like 0-9 or 1,3,5. Default: as many as the study says.")
]
Budget = Annotated[int | None, typer.Option(min=1, help="Candidates per row, data set and seed.")]
Add = Annotated[
    list[str] | None, typer.Option("--add", help="A method of yours as one more row: file.py:name.")
]
Jobs = Annotated[int, typer.Option(min=1, help="Cells at a time: a cell is one row on one data set.")]
Out = Annotated[Path, typer.Option(file_okay=False, help="Folder of all runs.")]
Results = Annotated[
    Path | None,
    typer.Option(file_okay=False, help="Write NAME.csv there; runs that it has already are not repeated."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="List the runs and how many are finished.")]
Finished = Annotated[bool, typer.Option("--finished", help="Start nothing: collect the runs that are done.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def study(
    name: Name,
    data: Data = "*",
    rows: Rows = "*",
    seeds: Seeds = None,
    budget: Budget = None,
    add: Add = None,
    jobs: Jobs = 1,
    out: Out = Path("runs"),
    results: Results = None,
    dry_run: DryRun = False,
    finished: Finished = False,
    as_json: Json = False,
) -> None:
    """Run a study; finished runs are not repeated, stopped ones are resumed.

    Every row may try the same number of candidates, chosen by validation NLL, for each seed on its own.
    Example: tailormix study text --rows erm,sk-mixup --seeds 0-4 --results docs/results
    """
    from tailormix.studies.raw import read_csv
    from tailormix.studies.running import check_cells, run_cells
    from tailormix.studies.study import MEMBER_STEP, read_study

    found = read_study(name, {} if budget is None else {"budget": budget})
    if results is not None and (path := results / f"{found.name}.csv").is_file():
        found = replace(found, earlier=read_csv(path))
    for plugin in add or []:
        found = found.with_method(plugin)
    cells = found.cells(data, rows)
    chosen = _seeds(seeds, found.seeds, MEMBER_STEP)
    if dry_run:
        _forecast(found, cells, out, chosen, as_json)
        return
    if results is not None:
        _check_results(found, cells, results)
    if not finished:
        check_cells(found, cells, out, chosen)
    failed = 0
    if not finished:
        for number, (cell, messages) in enumerate(run_cells(found, cells, out, chosen, jobs), start=1):
            typer.echo(f"{number}/{len(cells)} {cell}", err=True)
            for message in messages:
                typer.echo(f"  {message}", err=True)
                failed += message.startswith("failed")
    _collect(found, cells, out, chosen, results, as_json)
    if failed:
        raise typer.Exit(1)


def _seeds(text: str | None, default: int, most: int) -> list[int]:
    from tailormix.experiments.parallel import parse_seeds

    found = list(range(default)) if text is None else parse_seeds(text)
    if max(found) >= most:
        raise ValueError(f"seeds of a study must be below {most}, got {max(found)}")
    return found


def _check_results(study: Study, cells: Sequence[tuple[str, Row]], folder: Path) -> None:
    """Refuse a folder that cannot be written to, or whose file would lose lines; name what is out of date."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"--results {folder} cannot be made: {error.strerror}") from error
    if not os.access(folder, os.W_OK):
        raise ValueError(f"--results {folder} cannot be written to")
    known = {(data, row.name): row.candidates(study.budget) for data, row in cells if row.ensemble is None}
    for line in study.earlier:
        candidates = known.get((line["data"], line["row"]))
        if candidates is not None and json.loads(line["candidate"] or "{}") not in candidates:
            raise ValueError(
                f"{folder / study.name}.csv has a candidate of row {line['row']} that its search now lacks, "
                f"{line['candidate']}: search it too, within --budget, or name another --results folder"
            )
    asked = {data for data, _ in cells}
    runs = {(line["row"], line["run"]): line for line in study.earlier if line["data"] in asked}
    old = {
        f"{line['data']}/{line['row']}": None
        for line in runs.values()
        if line["row"] in study.rows and not study.is_current(line)
    }
    if old:
        file = folder / f"{study.name}.csv"
        typer.echo(f"{file} has lines of other settings, compared all the same: {', '.join(old)}", err=True)


def _forecast(
    study: Study, cells: Sequence[tuple[str, Row]], out: Path, seeds: Sequence[int], as_json: bool
) -> None:
    """Runs and finished runs of each cell; ensembles add their further members."""
    from tailormix.studies.running import choose, needed_by_seed, result_of, score

    rows = []
    for data, row in cells:
        if row.ensemble is not None:
            base = study.rows[row.ensemble]
            chosen = choose(study, data, base, out, seeds, scaled=True)
            further = [
                study.line(run, row) or result_of(member)
                for run in chosen.values()
                for member in study.members(row, run)[1:]
            ]
            count, done = (row.members - 1) * len(seeds), sum(each is not None for each in further)
            rows.append({"data": data, "row": row.name, "runs": count, "finished": done})
            continue
        needed = needed_by_seed(study, data, row, out, seeds)
        count = sum(max(1, len(runs)) for runs in needed)  # what a search will choose is one run at least
        done = sum(score(study, run, scaled=False) is not None for runs in needed for run in runs)
        rows.append({"data": data, "row": row.name, "runs": count, "finished": done})
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    for each in rows:
        typer.echo(f"{each['data']}/{each['row']}: {each['runs']} runs, {each['finished']} finished")


def _collect(
    study: Study,
    cells: Sequence[tuple[str, Row]],
    out: Path,
    seeds: Sequence[int],
    results: Path | None,
    as_json: bool,
) -> None:
    """Print what was found, and write it where that is asked for; rows that the file had are shown too."""
    from tailormix.studies.page import study_tables
    from tailormix.studies.raw import as_text, collect, read_csv, update_csv

    rows = collect(study, cells, out, seeds)
    if not rows and not study.earlier:
        typer.echo("no run is finished", err=True)
        raise typer.Exit(1)
    shown = as_text(rows)
    if results is not None:
        path = results / f"{study.name}.csv"
        if rows:
            update_csv(rows, path)
            typer.echo(f"{path} written: {len(rows)} runs", err=True)
        data_sets = {data for data, _ in cells}
        shown = [row for row in read_csv(path) if row["data"] in data_sets]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
    else:
        typer.echo(study_tables(study.with_rows_of(shown), shown))
