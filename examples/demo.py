"""Train ERM, Mixup and SK Mixup on two toy problems, print a table and write a page with the pictures.

Run ``make demo``, or ``python examples/demo.py --out demo``. It takes well under a minute on two cores.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from jinja2 import Environment, FileSystemLoader
from joblib import Parallel, delayed
from markupsafe import Markup
from rich.console import Console
from rich.table import Table

from demo_figures import boundary_svg, density_svg, overview_png, reliability_svg
from demo_training import DATA, METHODS, Outcome, learn

HERE = Path(__file__).parent
COLUMNS = {"accuracy": ("acc %", 100, ".1f"), "ece": ("ECE %", 100, ".1f"), "nll": ("NLL", 1, ".3f")}
PARTS = ("test", "fresh")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for index.html")
    parser.add_argument("--epochs", type=int, default=5000)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--png", type=Path, help="also write an overview picture there")
    options = parser.parse_args(arguments)
    console = Console()
    with console.status("training"):
        tasks = [delayed(learn)(data, method, options.epochs) for data in DATA for method in METHODS]
        outcomes: list[Outcome] = Parallel(options.jobs)(tasks)
    console.print(table(outcomes))
    path = options.out / "index.html"
    write(path, page(outcomes, options.epochs))
    console.print(f"The pictures: [bold]{path}[/bold]")
    if options.png:
        overview_png(outcomes, options.png)


def table(outcomes: list[Outcome]) -> Table:
    """Accuracy, ECE and NLL on the 30 test points and on 5000 fresh ones."""
    result = Table(title="One seed, as in the paper", box=None, header_style="bold", title_justify="left")
    result.add_column("data")
    result.add_column("method", no_wrap=True)
    for part in PARTS:
        for label, _, _ in COLUMNS.values():
            result.add_column(f"{part}\n{label}", justify="right")
    for outcome in outcomes:
        cells = [
            format(outcome.scores[part][name] * factor, form)
            for part in PARTS
            for name, (_, factor, form) in COLUMNS.items()
        ]
        result.add_row(outcome.data, outcome.method, *cells)
    return result


def page(outcomes: list[Outcome], epochs: int) -> str:
    """The page as one string, with every picture inside."""
    environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, trim_blocks=True)
    problems = {data: [each for each in outcomes if each.data == data] for data in DATA}
    return environment.get_template("demo_page.html.jinja").render(
        problems={data: [panel(each, each_of) for each in each_of] for data, each_of in problems.items()},
        density=Markup(
            labelled(density_svg(), "Heat map: density of the mixing coefficient against distance")
        ),
        reliability=Markup(
            labelled(reliability_svg(problems["Circles"]), "Accuracy against confidence on Circles")
        ),
        epochs=epochs,
    )


def panel(outcome: Outcome, rivals: list[Outcome]) -> dict[str, object]:
    """What the page shows of one outcome."""
    label = f"Decision frontier and confidence of {outcome.method} on {outcome.data}"
    best = {part: {name: _wins(outcome, rivals, part, name) for name in COLUMNS} for part in PARTS}
    picture = Markup(labelled(boundary_svg(outcome), label))
    return {"method": outcome.method, "scores": outcome.scores, "svg": picture, "best": best}


def labelled(svg: str, label: str) -> str:
    """The same picture with a text for those who cannot see it."""
    return svg.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)


def write(path: Path, text: str) -> None:
    """Write whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def _wins(outcome: Outcome, rivals: list[Outcome], part: str, name: str) -> bool:
    _, factor, form = COLUMNS[name]
    values = [float(format(each.scores[part][name] * factor, form)) for each in rivals]
    mine = float(format(outcome.scores[part][name] * factor, form))
    return mine == (max if name == "accuracy" else min)(values)


if __name__ == "__main__":
    main()
