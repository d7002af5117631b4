"""``python -m benchmarks``: speed against peers, epochs, costs of all methods, the estimators.

A missed target is shown, and never fails the run: figures depend on the machine, tests must not.
"""

from __future__ import annotations

import datetime as dt
import itertools
import json
import os
import platform
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import torch
import typer
from rich.console import Console

from benchmarks.harness import CLOCKS, records_table, rich_table
from tailormix import __version__, checks
from tailormix.atomic import write_atomically
from tailormix.methods import METHODS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.costs import Problem
    from benchmarks.harness import Record

DOCS = Path(__file__).parents[1] / "docs"
RESULTS = Path("benchmarks/results")
DEVICES = ("auto", "cpu", "cuda")

OutFolder = Annotated[Path, typer.Option(file_okay=False, help="Folder for the results as JSON.")]
Quick = Annotated[bool, typer.Option("--quick", help="As little as possible, to see that everything runs.")]

app = typer.Typer(add_completion=False, help=__doc__)


@app.callback(invoke_without_command=True)
def main(context: typer.Context) -> None:
    """Speed as ratios against peers in one run; without a command, ``speed``."""
    if context.invoked_subcommand is None:
        speed()


@app.command()
def speed(
    only: Annotated[list[str] | None, typer.Option(help="One benchmark; may be repeated.")] = None,
    out: OutFolder = RESULTS,
    quick: Quick = False,
) -> None:
    """The library's own work in a step, the batch form, the warp and the metrics, beside their targets.

    Example: python -m benchmarks speed --only warp
    """
    from benchmarks.speed import BENCHMARKS

    names = [_known("benchmark", name, BENCHMARKS) for name in only or BENCHMARKS]
    torch.set_num_threads(1)
    _report((BENCHMARKS[name](0.0 if quick else 1.0) for name in names), out / "speed.json", quick)


@app.command()
def epochs(
    out: Annotated[Path, typer.Option(dir_okay=False, help="File for the results.")] = RESULTS
    / "epochs.json",
    page: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Also write them into this Markdown page.")
    ] = None,
    clock: Annotated[str, typer.Option(help="wall, or cpu: the work of this process alone.")] = "wall",
    quick: Quick = False,
) -> None:
    """An epoch of training against a loop by hand, SK Mixup against Mixup, ten models against one.

    Example: python -m benchmarks epochs --clock cpu --page docs/costs.md
    """
    from benchmarks.epochs import insert_section, run, section

    _known("clock", clock, CLOCKS)
    torch.set_num_threads(1)
    records = _shown(run(clock, quick))
    settings = {**_machine(), "clock": clock, "quick": quick}
    found = {"settings": settings, "records": records}
    out.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(out, json.dumps(found, indent=2) + "\n")
    if page is not None:
        text = insert_section(page.read_text(encoding="utf-8"), section(records, settings))
        write_atomically(page, text)


@app.command()
def costs(
    methods: Annotated[
        str | None, typer.Option(help="Names with commas; ERM and Mixup always take part. Default: all.")
    ] = None,
    model: Annotated[str, typer.Option(help="Network for images (tailormix list models).")] = "resnet8",
    batch: Annotated[int, typer.Option(min=2, help="Samples per step.")] = 128,
    seconds: Annotated[float, typer.Option(min=0.0, help="Time for each method.")] = 1.0,
    clock: Annotated[str, typer.Option(help="wall, or cpu: the work of this process alone.")] = "wall",
    device: Annotated[str, typer.Option(help="cpu, cuda, or auto: a GPU if there is one.")] = "auto",
    quick: Quick = False,
    out: Annotated[Path | None, typer.Option(dir_okay=False, help="Also write JSON to this file.")] = None,
    page: Annotated[Path | None, typer.Option(dir_okay=False, help="Also write a Markdown page.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """A training step of every method: time, passes and memory, against ERM and Mixup.

    All methods take turns in one run, so that only ratios of figures taken together are shown. Then the
    paper's claims about cost are checked.

    Example: python -m benchmarks costs --methods sk-mixup,mit-a,rankmixup
    """
    from benchmarks.costs import measure
    from benchmarks.epochs import kept_section
    from benchmarks.paper_costs import check_claims, cost_page

    names = [_known("method", name.strip(), METHODS) for name in methods.split(",")] if methods else None
    _known("clock", clock, CLOCKS)
    problems = _problems(model, batch, _known("device", device, DEVICES), quick)
    for option, path in (("--out", out), ("--page", page)):
        if path is not None and not path.parent.is_dir():
            raise typer.BadParameter(f"folder {path.parent} does not exist", param_hint=option)
    rows: dict[Any, Any] = {}
    for problem in problems:
        with Console(stderr=True).status(f"{problem.task}: {problem.model_name}, {problem.size}"):
            try:
                rows[problem.task] = measure(problem, names, seconds=0.0 if quick else seconds, clock=clock)
            except (ValueError, TypeError, RuntimeError) as error:  # a model that a method cannot work with
                typer.echo(f"error: {error}", err=True)
                raise typer.Exit(1) from error
    settings = {**_cost_settings(problems), "quick": quick, "clock": clock}
    found = {"settings": settings, **rows, "claims": check_claims(rows)}
    text = json.dumps(found, indent=2)
    if out is not None:
        write_atomically(out, text + "\n")
    if page is not None:
        old = page.read_text(encoding="utf-8") if page.exists() else ""
        write_atomically(page, cost_page(found) + kept_section(old))
    if as_json:
        typer.echo(text)
    else:
        _show_costs(found, problems)


@app.command()
def estimators(
    out: Annotated[Path, typer.Option(help="File for the scores.")] = DOCS / "estimators.json",
    page: Annotated[Path, typer.Option(help="Page with the tables.")] = DOCS / "estimators.md",
    seeds: Annotated[int, typer.Option(min=1, max=2, help="Splits of each data set.")] = 2,
    jobs: Annotated[int, typer.Option(help="Processes.")] = 1,
    quick: Quick = False,
    tables_only: Annotated[
        bool, typer.Option("--tables-only", help="Tables of the scores in --out.")
    ] = False,
) -> None:
    """The estimators without tuning, against plain training and scikit-learn; resumes what was interrupted.

    Example: python -m benchmarks estimators --jobs 2
    """
    from benchmarks.estimators import insert_tables, run

    if not tables_only:
        run(out, seeds, workers=jobs, quick=quick)
    results = json.loads(out.read_text(encoding="utf-8"))
    write_atomically(page, insert_tables(page.read_text(encoding="utf-8"), results))


@app.command()
def members(
    out: OutFolder = RESULTS,
    clock: Annotated[str, typer.Option(help="wall, or cpu: the work of this process alone.")] = "wall",
    quick: Quick = False,
) -> None:
    """Fits of eight members of an estimator beside fits of one.

    Example: python -m benchmarks members --clock cpu
    """
    from benchmarks.estimators import members

    torch.set_num_threads(1)
    _report([members(_known("clock", clock, CLOCKS), quick)], out / "members.json", quick)


def _report(benchmarks: Iterable[Sequence[Record]], path: Path, quick: bool) -> None:
    """Print the records of each benchmark as soon as they are there, then write all of them."""
    console, records = Console(), []
    for rows in benchmarks:
        records += _shown(rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(
        path, json.dumps({"settings": {**_machine(), "quick": quick}, "records": records}, indent=2)
    )
    console.print(f"\n[dim]{path}: one thread, fastest turn of each contender[/dim]", highlight=False)


def _shown(rows: Sequence[Record]) -> list[dict[str, Any]]:
    """Print the records; what is written of them."""
    for _, same in itertools.groupby(rows, lambda row: (row.benchmark, row.peer)):
        Console().print(records_table(list(same)))
    return [{**asdict(row), "ratio": row.ratio, "met": row.met} for row in rows]


def _problems(model: str, batch: int, device: str, quick: bool) -> list[Problem]:
    """Images for classification and series for regression; ``quick`` makes both tiny."""
    from benchmarks.costs import images, series

    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        raise typer.BadParameter("device must be cpu: torch finds no GPU here, got 'cuda'")
    small = min(batch, 16)
    try:
        if quick:
            tiny = series(small, rows=64, window=32, width=2, device=device)
            return [images(model, small, side=8, device=device), tiny]
        return [images(model, batch, device=device), series(batch, rows=max(4373, batch), device=device)]
    except (ValueError, TypeError) as error:
        raise typer.BadParameter(str(error)) from error


def _cost_settings(problems: Sequence[Problem]) -> dict[str, Any]:
    x = problems[0].x
    return {
        **_machine(),
        "device": x.device.type,
        "memory": "peak allocated" if x.is_cuda else "saved for the gradient",
        **{p.task: {"model": p.model_name, "batch": list(p.x.shape)} for p in problems},
    }


def _show_costs(found: dict[str, Any], problems: Sequence[Problem]) -> None:
    from benchmarks.paper_costs import claim_cells, cost_cells

    console, facts = Console(), found["settings"]
    for problem in problems:
        title = f"{problem.task}: a step of {problem.model_name}, batch {problem.size}"
        console.print(rich_table(title, *cost_cells(found[problem.task], problem.task)))
    if found["claims"]:
        console.print(rich_table("the paper's claims", *claim_cells(found["claims"])))
    for row in found["claims"]:
        if row["note"]:
            console.print(f"{row['claim']}: {row['note']}", highlight=False)
    how = f"fastest turn ({facts['clock']} clock), {facts['device']}, {facts['threads']} threads"
    console.print(f"[dim]{how}; MB {facts['memory']}; n is a batch; the paper's times are epochs'[/dim]")


def _machine() -> dict[str, Any]:
    return {
        "date": dt.date.today().isoformat(),
        "cores": os.cpu_count(),
        "tailormix": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "processor": platform.processor() or platform.machine(),
        "threads": torch.get_num_threads(),
    }


def _known(what: str, name: str, names: Iterable[str]) -> str:
    try:
        return checks.known(what, name, names)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


if __name__ == "__main__":
    app(prog_name="python -m benchmarks")
