"""``python -m benchmarks``: run all benchmarks, print one table each, write one JSON file.

A missed target is shown, and never fails the run: figures depend on the machine, tests must not.
"""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.record import fastest

if TYPE_CHECKING:
    from benchmarks.record import Record

# Files of this folder, each with run(quick) -> records. Training is apart: python -m benchmarks.training
# In one process, metrics come first: they meet the allocator as users have it, others hold on to memory.
MODULES = ("metrics", "warping", "batch_form", "label_density", "method_costs")


def main(arguments: list[str] | None = None) -> None:
    """Run, show and save."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=Path("benchmarks/results"), help="folder for results.json"
    )
    parser.add_argument("--quick", action="store_true", help="a few turns only, to see that everything runs")
    parser.add_argument(
        "--processes", type=int, default=3, help="how many processes run each benchmark, one after the other"
    )
    parser.add_argument("--only", choices=MODULES, action="append", help="run this one (may be repeated)")
    options = parser.parse_args(arguments)
    processes = 1 if options.quick else max(options.processes, 1)
    torch.set_num_threads(1)
    settings = {
        "torch": torch.__version__,
        "python": platform.python_version(),
        "processor": platform.processor() or platform.machine(),
        "threads": torch.get_num_threads(),
        "quick": options.quick,
        "processes": processes,
    }
    records: list[Record] = []
    console = Console()
    for name in options.only or MODULES:
        if processes > 1:
            rows = fastest([_elsewhere(name) for _ in range(processes)])
        else:
            rows = importlib.import_module(f"benchmarks.{name}").run(options.quick)
        console.print(table(rows))
        records += rows
    path = save({"settings": settings, "records": records}, options.out)
    console.print(f"[dim]{path}: {len(records)} records, one thread, fastest turn of each contender[/dim]")


def _elsewhere(name: str) -> list[Record]:
    """The records of one benchmark, from a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks", "--processes", "1", "--only", name, "--out", folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        results = json.loads((Path(folder) / "results.json").read_text(encoding="utf-8"))
    records: list[Record] = results["records"]
    return records


def table(rows: list[Record]) -> Table:
    """The records of one benchmark."""
    result = Table(title=rows[0]["benchmark"], box=None, header_style="bold", title_justify="left")
    result.add_column("size")
    result.add_column("contender")
    for column in ("best µs", "median µs", "share", "speed-up"):
        result.add_column(column, justify="right")
    for column in ("against", "target", ""):
        result.add_column(column)
    for row in rows:
        result.add_row(
            row["size"],
            escape(row["contender"]),
            f"{row['best_us']:,.0f}",
            f"{row['median_us']:,.0f}",
            f"{row['share']:.2f}",
            f"{row['speed_up']:.1f}×",
            escape(row["against"]),
            _target(row),
            {None: "", True: "[green]met[/green]", False: "[red]not met[/red]"}[row["met"]],
        )
    return result


def _target(row: Record) -> str:
    if row["at_least"] is not None:
        return f"≥ {row['at_least']:g}× as fast"
    return "" if row["at_most"] is None else f"share ≤ {row['at_most']:g}"


def save(results: dict[str, object], folder: Path) -> Path:
    """Write ``results.json`` whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "results.json"
    with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".json", delete=False) as file:
        json.dump(results, file, indent=2)
    return Path(file.name).replace(path)


if __name__ == "__main__":
    main()
