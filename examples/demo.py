"""Train ERM, Mixup and SK Mixup on digits and moons, evaluate them, and write one page with all figures.

Run ``make demo``, or ``python examples/demo.py --out demo``. It takes about half a minute on two
cores; a second call trains nothing again.
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

from demo_figures import boundary_picture, density_picture, overview_png
from demo_runs import Task, tasks
from demo_toys import DATA, Outcome, learn, outcomes
from tailormix.atomic import write_atomically
from tailormix.reports.report_page import Section, report_page
from tailormix.reports.run_figures import AFTER, pooled_reliability
from tailormix.reports.run_groups import problems_of
from tailormix.reports.run_tables import BEFORE, metric_table
from tailormix.reports.runs import read_runs

if TYPE_CHECKING:
    from tailormix.reports.run_groups import Group, Problem

HERE = Path(__file__).parent
LEAD = (
    "Three ways to train the same small networks: on the data as they are (ERM), on random mixtures (Mixup), "
    "and on mixtures that are the stronger the closer two samples are (SK Mixup). Each is trained with "
    "several seeds, selected and temperature-scaled on a validation split, and evaluated on test points that "
    "took part in neither."
)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder of index.html and of the runs")
    parser.add_argument("--seeds", type=int, default=4, help="runs of each method")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--epochs", type=int, default=5000, help="of the toys")
    parser.add_argument("--run-epochs", type=int, help="of the runs, instead of their own number")
    parser.add_argument("--png", type=Path, help="also write an overview picture there")
    options = parser.parse_args(arguments)
    started, console = time.monotonic(), Console()
    runs = tasks(options.out / "runs", options.seeds, options.run_epochs)
    toys = options.out / "runs" / f"toys-{options.epochs}.safetensors"
    train_all(runs, toys, options.epochs, options.jobs, console)
    read, skipped = read_runs([task.path for task in runs])
    problems, shown = problems_of(read), outcomes(toys)
    for problem in problems:
        console.print(table(problem))
    page = options.out / "index.html"
    sections = [
        Section("findings", "Who is too confident?", findings(problems)),
        toy_section(shown, options.epochs),
    ]
    title = "How sure should a model be?"
    write_atomically(
        page,
        report_page(problems, skipped, title=title, lead=LEAD, eyebrow="tailormix demo", before=sections),
    )
    if options.png:
        overview_png(shown, problems[0], options.png)
    seconds = f"{time.monotonic() - started:.0f} s."
    console.print(f"{seconds} Open [bold]{page}[/bold] in a browser.", highlight=False, soft_wrap=True)


def train_all(runs: list[Task], toys: Path, epochs: int, jobs: int, console: Console) -> None:
    """Train what has not been trained yet, several at a time."""
    pending = [delayed(task.train)() for task in runs if not task.done]
    if not toys.exists():
        pending.insert(0, delayed(learn)(epochs, toys))
    finished = Parallel(min(jobs, max(1, len(pending))), return_as="generator_unordered")(pending)
    for _ in track(finished, "training", total=len(pending), console=console, transient=True):
        pass


def table(problem: Problem) -> Table:
    """Accuracy, ECE and NLL, before and after temperature, over the seeds."""
    found = metric_table(problem, ("accuracy", "ece", "nll"))
    seeds = ", ".join(map(str, problem.groups[0].seeds))
    result = Table(
        title=f"{problem.title}, seeds {seeds}", box=None, header_style="bold", title_justify="left"
    )
    result.add_column("method", no_wrap=True)
    for name, small in found.headings:
        result.add_column(f"{name}\n{small}", justify="right", no_wrap=True)
    for group, cells in found.rows:
        result.add_row(group.label, *(cell.text.replace(" ± ", "±") for cell in cells))
    return result


def findings(problems: list[Problem]) -> Markup:
    """What the numbers of these runs say."""
    items = [
        Markup("<li><b>{}, {}</b>: {}</li>").format(problem.title, group.label, describe(group))
        for problem in problems
        for group in problem.groups
    ]
    ranges = " ".join(range_of(problem) for problem in problems)
    closing = f"Temperature divides all logits by one number, chosen on the validation split. {ranges}"
    return Markup('<ul class="points">{}</ul><p>{}</p>').format(Markup("").join(items), closing)


def range_of(problem: Problem) -> str:
    """How far apart the methods are before temperature scaling, and after."""
    before, after = (
        [100 * group.metric(stage, "ece").mean for group in problem.groups] for stage in (BEFORE, AFTER)
    )
    return (
        f"On {problem.title} the mean ECE of the methods lies between {min(before):.1f} and "
        f"{max(before):.1f} % before it, and between {min(after):.1f} and {max(after):.1f} % after it."
    )


def describe(group: Group) -> str:
    """Accuracy beside mean confidence, over all seeds, and which of them is larger."""
    curve = pooled_reliability(group)
    accuracy, confidence = 100 * curve.mean_accuracy, 100 * curve.mean_confidence
    verdict = "overconfident" if confidence > accuracy + 1 else "about right"
    verdict = "underconfident" if confidence < accuracy - 1 else verdict
    return f"accuracy {accuracy:.1f} %, mean confidence {confidence:.1f} %: {verdict}."


def toy_section(shown: list[Outcome], epochs: int) -> Section:
    """The paper's toy figures: decision frontiers, the density of the coefficient, and their numbers."""
    loader = ChoiceLoader([FileSystemLoader(HERE), PackageLoader("tailormix.reports", "")])
    environment = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    html = environment.get_template("demo_toys.html.jinja").render(
        problems={data: [boundary_picture(each) for each in shown if each.data == data] for data in DATA},
        density=density_picture(),
        outcomes=shown,
        epochs=epochs,
    )
    return Section("toys", "Between the data: Moons and Circles", Markup(html))


if __name__ == "__main__":
    main()
