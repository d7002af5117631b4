"""``tailormix bench``: what a step of every method costs on this machine, beside the paper's columns."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tailormix.benching.problems import Problem


Methods = Annotated[
    str | None, typer.Option(help="Names with commas; ERM and Mixup always take part. Default: all.")
]
Model = Annotated[str, typer.Option(help="Network for images (tailormix list models).")]
Batch = Annotated[int, typer.Option(min=2, help="Samples a step.")]
Seconds = Annotated[float, typer.Option(min=0.0, help="Time for each method.")]
Clock = Annotated[str, typer.Option(help="wall, or cpu: the process's own work, on a busy machine.")]
Device = Annotated[str, typer.Option(help="cpu, cuda, or auto: a GPU if there is one.")]
Quick = Annotated[bool, typer.Option("--quick", help="Tiny shapes, to see that everything runs.")]
OutFile = Annotated[Path | None, typer.Option(dir_okay=False, help="Also write the JSON to this file.")]
Page = Annotated[Path | None, typer.Option(dir_okay=False, help="Also write a Markdown page to this file.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
DEVICES = ("auto", "cpu", "cuda")


def bench(
    methods: Methods = None,
    model: Model = "resnet8",
    batch: Batch = 128,
    seconds: Seconds = 1.0,
    clock: Clock = "wall",
    device: Device = "auto",
    quick: Quick = False,
    out: OutFile = None,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Measure a training step of every method: time, passes and memory, against ERM and Mixup.

    All methods take turns in one run, so that only ratios of figures taken together are shown. Then the
    paper's claims about cost are checked.

    Example: tailormix bench --methods sk-mixup,mit-a,rankmixup
    """
    from tailormix import checks
    from tailormix.benching.timing import CLOCKS

    try:
        names, clock = _names(methods), checks.known("clock", clock, CLOCKS)
        problems = _problems(model, batch, device, quick)
    except (ValueError, TypeError) as error:
        raise typer.BadParameter(str(error)) from error
    for option, path in (("--out", out), ("--page", page)):
        if path is not None and not path.parent.is_dir():
            raise typer.BadParameter(f"folder {path.parent} does not exist", param_hint=option)
    try:
        found = _measured(problems, names, 0.0 if quick else seconds, clock)
    except (
        ValueError,
        TypeError,
        RuntimeError,
    ) as error:  # a model that a method cannot work with, no memory
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from error
    found = {"settings": {**_settings(problems), "quick": quick, "clock": clock}, **found}
    text = json.dumps(found, indent=2)
    _write(found, text, out, page)
    if as_json:
        typer.echo(text)
    else:
        _show(found, problems)


def _write(found: dict[str, Any], text: str, out: Path | None, page: Path | None) -> None:
    from tailormix.atomic import write_atomically
    from tailormix.benching.page import cost_page

    if out is not None:
        write_atomically(out, text + "\n")
    if page is not None:
        write_atomically(page, cost_page(found))


def _names(methods: str | None) -> list[str] | None:
    from tailormix import checks
    from tailormix.methods import METHODS

    if methods is None:
        return None
    return [checks.known("method", name.strip(), METHODS) for name in methods.split(",") if name.strip()]


def _problems(model: str, batch: int, device: str, quick: bool) -> list[Problem]:
    """Images for classes and series for regression; ``quick`` makes both tiny."""
    import torch

    from tailormix import checks
    from tailormix.benching.problems import images, series

    if checks.known("device", device, DEVICES) == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("device must be cpu: torch finds no GPU here, got 'cuda'")
    if quick:
        small = min(batch, 16)
        return [
            images(model, small, side=8, device=device),
            series(small, rows=64, window=32, width=2, device=device),
        ]
    return [images(model, batch, device=device), series(batch, rows=max(4373, batch), device=device)]


def _measured(
    problems: Sequence[Problem], names: list[str] | None, seconds: float, clock: str
) -> dict[str, Any]:
    from rich.console import Console

    from tailormix.benching.claims import checked
    from tailormix.benching.measuring import measure

    rows: dict[Any, Any] = {}
    console = Console(stderr=True)
    for problem in problems:
        with console.status(f"{problem.task}: {problem.model_name}, {problem.size}"):
            rows[problem.task] = measure(problem, names, seconds=seconds, clock=clock)
    return {**rows, "claims": checked(rows)}


def _settings(problems: Sequence[Problem]) -> dict[str, Any]:
    import torch

    from tailormix import __version__

    return {
        "tailormix": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "processor": platform.processor() or platform.machine(),
        "device": problems[0].x.device.type,
        "threads": torch.get_num_threads(),
        "memory": "peak allocated" if problems[0].x.is_cuda else "saved for the gradient",
        **{p.task: {"model": p.model_name, "batch": list(p.x.shape)} for p in problems},
    }


def _show(found: dict[str, Any], problems: Sequence[Problem]) -> None:
    from rich.console import Console

    from tailormix.benching.published import PEERS

    console = Console()
    for problem in problems:
        title = f"{problem.task}: a step of {problem.model_name}, batch {problem.size}"
        console.print(_table(title, found[problem.task], PEERS[problem.task]))
    if found["claims"]:
        console.print(_claims(found["claims"]))
    for row in found["claims"]:
        if row["note"]:
            console.print(f"{row['claim']}: {row['note']}", highlight=False)
    facts = found["settings"]
    words = f"fastest of many turns ({facts['clock']} clock), {facts['device']}, {facts['threads']} threads"
    console.print(f"[dim]{words}; MB {facts['memory']}; n is a batch; the paper's times are epochs'[/dim]")


def _table(title: str, rows: Sequence[dict[str, Any]], peer: str) -> Any:
    from rich.table import Table

    from tailormix.benching.page import batches_and_time

    table = Table(title=f"\n{title}", box=None, title_justify="left", header_style="bold", pad_edge=False)
    table.add_column("method", no_wrap=True)
    headings = ("ms", "÷ erm", "÷ mixup", "grad", "no grad", "MB", "÷ mixup")
    for heading in (*headings, "paper: batches", f"paper ÷ {peer}"):
        table.add_column(heading, justify="right")
    for row in rows:
        passes = (row["samples with gradient"], row["samples without gradient"])
        table.add_row(
            row["method"],
            f"{row['seconds'] * 1e3:.3g}",
            *(f"{row[key]:.2f}" for key in ("time to erm", "time to mixup")),
            *(f"{number:g} n" if number else "" for number in passes),
            f"{row['bytes'] / 1e6:.1f}",
            f"{row['memory to mixup']:.2f}",
            *batches_and_time(row["paper"]),
        )
    return table


def _claims(rows: Sequence[dict[str, Any]]) -> Any:
    from rich.table import Table

    table = Table(title="\nthe paper's claims", box=None, title_justify="left", header_style="bold")
    for heading in ("claim", "claimed", "paper's table", "measured", "agrees"):
        table.add_column(heading, justify="left" if heading in ("claim", "agrees") else "right")
    for row in rows:
        own = "" if row["in the table"] is None else f"{row['in the table']:.2f}×"
        table.add_row(
            row["claim"],
            f"{row['claimed']:g}×",
            own,
            f"{row['measured']:.2f}×",
            "yes" if row["agrees"] else "no",
        )
    return table
