"""``tailormix reproduce``: run a table of the paper, and print our numbers beside the paper's."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tailormix.cli.errors import FAILED
from tailormix.cli.progress import list_failures, show_progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from tailormix.experiments.parallel import JobResult
    from tailormix.paper.planning import PlannedRun, RunPlan


WIDTH = 120  # characters of a table that goes to a file

Name = Annotated[str, typer.Argument(help="A table or figure (tailormix list tables) or a .toml file.")]
Rows = Annotated[
    str | None,
    typer.Option(help="Rows to run: names or patterns of rows, settings or setting/row, with commas."),
]
Seeds = Annotated[str | None, typer.Option(help="Seeds, like 0-9 or 1,3,5. Default: as many as the paper.")]
Jobs = Annotated[int, typer.Option(min=1, help="Runs at a time.")]
Budget = Annotated[str, typer.Option(help="paper: the published setting; small: the same at CPU scale.")]
Protocol = Annotated[
    str, typer.Option(help="paper: the text's, leak-proof; released: what the released code did.")
]
Out = Annotated[Path, typer.Option(file_okay=False, help="Folder of all runs, shared by all tables.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="List the runs and what they would take.")]
Finished = Annotated[bool, typer.Option("--finished", help="Start nothing: show the runs that are done.")]
Results = Annotated[Path | None, typer.Option(file_okay=False, help="Also write the results there, as JSON.")]
Engine = Annotated[str, typer.Option(help="Where many runs go: local, ray or dask.")]
Together = Annotated[
    bool,
    typer.Option(
        "--together", help="Train runs that differ in seed and numbers alone as one batch of small models."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def reproduce(
    name: Name,
    rows: Rows = None,
    seeds: Seeds = None,
    jobs: Jobs = 1,
    budget: Budget = "paper",
    protocol: Protocol = "paper",
    out: Out = Path("runs"),
    dry_run: DryRun = False,
    finished: Finished = False,
    results: Results = None,
    engine: Engine = "local",
    together: Together = False,
    as_json: Json = False,
) -> None:
    """Run a table of the paper; finished runs are not repeated, stopped ones are resumed.

    Example: tailormix reproduce regression --rows airfoil --seeds 0-9 --jobs 2
    """
    from tailormix import checks
    from tailormix.experiments.parallel import ENGINES

    try:
        checks.known("--engine", engine, ENGINES)
        plan = _plan(name, rows, seeds, budget, protocol, out)
    except (ValueError, TypeError) as error:
        raise typer.BadParameter(str(error)) from error
    if dry_run:
        _print_forecast(plan, jobs, as_json)
        return
    failed = [] if finished else _run(plan, jobs, engine, together)
    found = _draw(plan, out, results or out / "figures") if plan.table.figure else _collect(plan)
    if results is not None:
        _write(plan, found, results)
    _print_results(found, as_json)
    list_failures(failed)
    if not finished and plan.unfinished():  # data was missing
        raise typer.Exit(1)


def _plan(name: str, rows: str | None, seeds: str | None, budget: str, protocol: str, out: Path) -> RunPlan:
    from tailormix import checks
    from tailormix.experiments.parallel import parse_seeds
    from tailormix.paper.planning import plan_runs
    from tailormix.paper.tables import BUDGETS, PROTOCOLS, read_table

    checks.known("--budget", budget, BUDGETS)
    checks.known("--protocol", protocol, PROTOCOLS)
    wanted = [part.strip() for part in (rows or "").split(",") if part.strip()]
    chosen = None if seeds is None else parse_seeds(seeds)
    return plan_runs(read_table(name), out, rows=wanted, seeds=chosen, budget=budget, protocol=protocol)


def _run(plan: RunPlan, jobs: int, engine: str, together: bool) -> list[JobResult]:
    """Train what is not finished; the runs that failed."""
    from tailormix.experiments.parallel import run_jobs

    for setting in plan.left_out:
        typer.echo(f"{setting} has no small version and is left out", err=True)
    waiting = _with_data(plan.unfinished())
    if not waiting:
        return []
    done = len({run.path for run in plan.runs}) - len(waiting)
    typer.echo(f"{plan.table.name}: {len(waiting)} runs to go, {done} finished before", err=True)
    failed: list[JobResult] = []
    if together:
        waiting, failed = _run_groups(waiting)
    try:
        outcomes = list(show_progress(run_jobs([run.job() for run in waiting], jobs, engine), len(waiting)))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    return failed + [outcome for outcome in outcomes if outcome.result is None]


def _run_groups(runs: Sequence[PlannedRun]) -> tuple[list[PlannedRun], list[JobResult]]:
    """Train together what can be; the runs that are left, and those that failed."""
    from tailormix.experiments.parallel import JobResult
    from tailormix.experiments.running import run_groups
    from tailormix.training.progress import console

    with console("runs trained together") as report:
        found = run_groups(
            [run.experiment for run in runs],
            [run.path for run in runs],
            report=report,
            say=lambda text: typer.echo(f"note: {text}", err=True),
        )
    ended = list(zip(runs, found, strict=True))
    failed = [
        JobResult(run.job(), FAILED, f"error: {result}")
        for run, result in ended
        if isinstance(result, Exception)
    ]
    return [run for run, result in ended if result is None], failed


def _with_data(runs: list[PlannedRun]) -> list[PlannedRun]:
    """Leave out runs whose data is not here, saying what gets it: each would start only to fail."""
    from tailormix.paper.planning import missing_data

    missing = missing_data(runs, ("absent",))
    for name, command in missing.items():
        count = sum(name in run.published_data() for run in runs)
        typer.echo(f"data set {name} is not here, {count} runs are left out: {command}", err=True)
    return [run for run in runs if missing.keys().isdisjoint(run.published_data())]


def _collect(plan: RunPlan) -> dict[str, Any]:
    from tailormix.paper.results import collect, table_results

    return table_results(plan.table, collect(plan.table, plan.runs), plan.budget, plan.protocol)


def _draw(plan: RunPlan, runs: Path, out: Path) -> dict[str, Any]:
    from tailormix.paper.drawing import draw

    try:
        return draw(plan, runs, out)
    except (ValueError, OSError, RuntimeError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from error


def _write(plan: RunPlan, found: dict[str, Any], folder: Path) -> None:
    """Write JSON; of a table, with all that other calls have found for it."""
    from tailormix.paper.results import file_stem, updated_results, write_results

    path = folder / f"{file_stem(plan.table.name, plan.budget, plan.protocol)}.json"
    if not plan.table.figure:
        found = updated_results(plan, path)
        if not found["settings"]:
            return
    write_results(found, path)


def _print_results(found: dict[str, Any], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    from tailormix.paper.terminal import print_results

    print_results(found, _console())


def _print_forecast(plan: RunPlan, jobs: int, as_json: bool) -> None:
    from tailormix.paper.planning import estimate, missing_data
    from tailormix.paper.terminal import print_forecast

    forecast = {
        "table": plan.table.name,
        "title": plan.table.title,
        "kind": plan.table.kind,
        "budget": plan.budget,
        "protocol": plan.protocol,
        "jobs": jobs,
        "left out": list(plan.left_out),
        "absent data": missing_data(plan.runs),
        "cells": estimate(plan),
    }
    if as_json:
        typer.echo(json.dumps(forecast, indent=2, ensure_ascii=False))
    else:
        print_forecast(forecast, _console())


def _console() -> Console:
    """As wide as the terminal; wide enough for the tables where there is none."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal or "COLUMNS" in os.environ else Console(width=WIDTH)
