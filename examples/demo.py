"""Train plainly, with Mixup and with SK Mixup on toys and digits, and write one page with all figures.

Run ``make demo``, or ``python examples/demo.py --out demo``. It takes about half a minute; a second call
trains nothing again. It needs ``pip install "tailormix[train]"``.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PackageLoader
from joblib import Parallel, delayed
from markupsafe import Markup
from rich.console import Console
from rich.progress import track
from rich.table import Table

import demo_toys
from demo_figures import density_picture, off, overview_png, percent, toy_pictures
from demo_runs import Task, tasks
from tailormix.atomic import write_atomically
from tailormix.reports.runs.groups import problems_of
from tailormix.reports.runs.names import listed
from tailormix.reports.runs.reading import read_runs
from tailormix.reports.runs.report_page import Section, report_page, verdict_of

if TYPE_CHECKING:
    from demo_toys import ToyResult
    from tailormix.reports.runs.groups import Problem

HERE = Path(__file__).parent
TITLE = "How sure should a model be?"
LEAD = (
    "A model that says 95 % should be right in 95 of 100 cases. Trained on few or noisy data, many say 95 % "
    "and are right in 80. This page trains the same networks in three ways: on the data as they are, on "
    "random mixtures (Mixup), and on mixtures that are the stronger the closer two samples are (SK Mixup)."
)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder of index.html and of the runs")
    parser.add_argument("--seeds", type=int, default=demo_toys.SEEDS, help="seeds of each method on the toys")
    parser.add_argument("--run-seeds", type=int, default=3, help="seeds of each method on digits")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--epochs", type=int, default=demo_toys.EPOCHS, help="of the toys")
    parser.add_argument("--run-epochs", type=int, help="of the digits, instead of their own number")
    parser.add_argument("--png", type=Path, help="also write an overview picture there")
    options = parser.parse_args(arguments)
    started, console = time.monotonic(), Console()
    runs = tasks(options.out / "runs", options.run_seeds, options.run_epochs)
    toys = options.out / "runs" / f"toys-{options.seeds}-{options.epochs}.safetensors"
    train_all(runs, toys, options, console)
    read, skipped = read_runs([task.path for task in runs])
    problems, found = problems_of(read), demo_toys.results(toys, options.seeds)
    for table in (toy_table(found), *map(verdict_table, problems)):
        console.print(table)
    page = options.out / "index.html"
    section = toy_section(found, options.epochs)
    text = report_page(problems, skipped, title=TITLE, lead=LEAD, eyebrow="tailormix demo", before=[section])
    write_atomically(page, text)
    if options.png:
        overview_png(found, options.png)
    seconds = f"{time.monotonic() - started:.0f} s."
    console.print(f"{seconds} Open [bold]{page}[/bold] in a browser.", highlight=False, soft_wrap=True)


def train_all(runs: list[Task], toys: Path, options: argparse.Namespace, console: Console) -> None:
    """Train what has not been trained yet, several at a time."""
    pending = [delayed(task.train)() for task in runs if not task.done]
    if not toys.exists():
        pending.insert(0, delayed(demo_toys.learn)(options.epochs, options.seeds, toys))
    jobs = min(options.jobs, max(1, len(pending)))
    finished = Parallel(jobs, return_as="generator_unordered")(pending)
    for _ in track(finished, "training", total=len(pending), console=console, transient=True):
        pass


def toy_table(found: list[ToyResult]) -> Table:
    """How far each method is from the truth."""
    table = Table(title="Toys with a known truth", box=None, header_style="bold", title_justify="left")
    for name in ("toy", "method", "off the truth by", "sure", "right"):
        table.add_column(name, justify="left" if name in ("toy", "method") else "right", no_wrap=True)
    for result in found:
        for one in result.outcomes:
            table.add_row(result.toy.name, one.method, off(one), percent(one.sure), percent(one.right))
    return table


def verdict_table(problem: Problem) -> Table:
    """Whether the confidence of each method is deserved, before any calibration."""
    table = Table(title=problem.title, box=None, show_header=False, title_justify="left")
    for group in problem.groups:
        table.add_row(group.label, str(verdict_of(group)))
    return table


def toy_section(found: list[ToyResult], epochs: int) -> Section:
    """The truth, what was learned of it, and the density of the coefficient."""
    loader = ChoiceLoader([FileSystemLoader(HERE), PackageLoader("tailormix.reports", "")])
    environment = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    html = environment.get_template("demo_toys.html.jinja").render(
        pictures={result.toy.name: toy_pictures(result) for result in found},
        density=density_picture(),
        seeds=len(found[0].outcomes[0].off),
        fresh=f"{demo_toys.FRESH:,}",
        wins=wins(found),
        epochs=epochs,
        rate=demo_toys.RATE,
        hidden=demo_toys.HIDDEN,
    )
    return Section("toys", "What over-confidence is, and what mixing repairs", Markup(html))


def wins(found: list[ToyResult]) -> str:
    """In how many seeds each method is closer to the truth than plain training."""
    counts: dict[str, list[str]] = {}
    for result in found:
        plain, *others = result.outcomes
        for one in others:
            closer = sum(now < before for before, now in zip(plain.off, one.off, strict=True))
            counts.setdefault(one.method, []).append(f"{closer} of {len(one.off)} on {result.toy.name}")
    told = "; ".join(f"{method} in {listed(seeds)}" for method, seeds in counts.items())
    return f"Seeds in which a method is closer to the truth than plain training: {told}."


if __name__ == "__main__":
    main()
