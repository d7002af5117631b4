"""Results and forecasts as tables in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from tailormix.experiments.experiment import DEFAULT_LOSS
from tailormix.paper.results_page import (
    LEGEND,
    against_text,
    difference_text,
    flat_facts,
    heading,
    made_with,
    ours_text,
    paper_text,
    row_title,
)
from tailormix.training.progress import time_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import Console


STYLES = {1: "bold", 2: "underline"}
DIRECTIONS = {"lower": ", lower is better", "higher": ", higher is better", "none": ""}
WIDE = 140  # characters, from which on the runs' folders are shown too
#: keys of an experiment that are shown, in this order
SHOWN = ("epochs", "batch", "optimiser", "schedule", "precision", "imitate", "also")


def print_results(results: Mapping[str, Any], console: Console) -> None:
    """Print the contents of a results file: heading, tables or facts, legend and versions."""
    console.print(heading(results), style="bold", highlight=False)
    for setting in results["settings"]:
        for column in setting["columns"]:
            console.print()
            console.print(_column_table(setting, column))
    facts = results.get("facts", {})
    for name, value in flat_facts(facts):
        console.print(f"{name}: {value}", highlight=False)
    if not results["settings"] and not facts:
        console.print("no finished runs", highlight=False)
        return
    legend = LEGEND if results["settings"] else ""
    files = ", ".join(results.get("files", []))
    for line in (legend, facts.get("caption", ""), results["note"], made_with(results), files):
        if line:
            console.print(f"\n{line}", style="dim", highlight=False)


def _column_table(setting: Mapping[str, Any], column: Mapping[str, Any]) -> Table:
    """The rows of one setting in one column."""
    title = f"{setting['title']}: {column['title']}{DIRECTIONS[column['better']]}"
    table = Table(title=title, title_justify="left", box=None, header_style="bold", pad_edge=False)
    numbers = [row["cells"].get(column["name"], {}) for row in setting["rows"]]
    with_paper = any("paper" in number for number in numbers)
    table.add_column("row", no_wrap=True)
    for name in ("ours (n)", *(("paper", "difference") if with_paper else ())):
        table.add_column(name, justify="right", no_wrap=True)
    for baseline in setting["baselines"].values():
        table.add_column(f"against {baseline}", justify="right")
    digits = column["digits"]
    for row, number in zip(setting["rows"], numbers, strict=True):
        if not number:
            continue
        texts = [_styled(ours_text(number, digits), number.get("ours"))]
        if with_paper:
            texts += [_styled(paper_text(number, digits), number.get("paper"))]
            texts += [Text(difference_text(number))]
        texts += [Text(against_text(number, method, digits)) for method in setting["baselines"]]
        table.add_row(row_title(row), *texts)
    return table


def _styled(text: str, number: Mapping[str, Any] | None) -> Text:
    return Text(text, STYLES.get((number or {}).get("place", 0), ""))


def print_forecast(forecast: Mapping[str, Any], console: Console) -> None:
    """Print the runs of every row and setting, the experiments, and the total hours on each device."""
    console.print(heading(forecast), style="bold", highlight=False)
    for name in dict.fromkeys(cell["setting"] for cell in forecast["cells"]):
        cells = [cell for cell in forecast["cells"] if cell["setting"] == name]
        console.print(f"\n{name}: {settings_text(cells[0]['experiment'])}", highlight=False)
        console.print(_runs_table(cells, folders=console.width >= WIDE))
    for line in _totals(forecast):
        console.print(line, highlight=False)


def _runs_table(cells: list[dict[str, Any]], folders: bool) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("row", "method", "seeds", "finished", "one run", "left", *(["folder"] if folders else [])):
        table.add_column(column, overflow="fold", no_wrap=column in ("row", "one run", "left"))
    for cell in cells:
        table.add_row(
            cell["row"],
            method_text(cell["experiment"]),
            f"{len(cell['seeds'])}",
            f"{cell['finished']}",
            time_text(3600 * cell["hours"]) + ("" if cell["measured"] else " (rough)"),
            time_text(3600 * cell["hours left"]),
            *([cell["run"]] if folders else []),
        )
    return table


def _totals(forecast: Mapping[str, Any]) -> Iterator[str]:
    """Hours on each device, data that is missing, and settings that are left out."""
    yield ""
    if not forecast["cells"]:
        yield "nothing to train"
    for device in dict.fromkeys(cell["device"] for cell in forecast["cells"]):
        cells = [cell for cell in forecast["cells"] if cell["device"] == device]
        left = sum(cell["hours left"] for cell in cells)
        runs = sum(len(cell["seeds"]) - cell["finished"] for cell in cells)
        each = f", {time_text(3600 * left / forecast['jobs'])} with {forecast['jobs']} at a time"
        where = "CPU" if device == "cpu" else "one A100"
        yield f"{runs} runs on {where}: {time_text(3600 * left)}{each if forecast['jobs'] > 1 else ''}"
    for name in forecast["left out"]:
        yield f"{name} has no small version and is left out"
    for name, command in forecast["absent data"].items():
        yield f"data set {name} is not here: {command}"


def settings_text(experiment: Mapping[str, Any]) -> str:
    """The settings of an experiment but for its method and loss.

    >>> settings_text({"data": {"name": "moons"}, "model": {"name": "mlp"}, "epochs": 3, "batch": 64})
    'moons, mlp, epochs 3, batch 64'
    """
    parts = [options_text(experiment[key]) for key in ("data", "model")]
    for key in SHOWN:
        value = experiment.get(key)
        if value and value != "32-true":
            parts.append(f"{key} {options_text(value)}")
    return ", ".join(parts)


def method_text(experiment: Mapping[str, Any]) -> str:
    """The method of an experiment, and its loss if that is not the default.

    >>> method_text({"method": {"name": "erm"}, "loss": {"name": "ls", "alpha": 0.05}})
    'erm, loss ls(alpha=0.05)'
    """
    loss = experiment.get("loss", {"name": DEFAULT_LOSS})
    text = options_text(experiment["method"])
    return text if loss["name"] == DEFAULT_LOSS else f"{text}, loss {options_text(loss)}"


def options_text(value: Any) -> str:
    """A name with its options.

    >>> options_text({"name": "mixup", "alpha": 0.5})
    'mixup(alpha=0.5)'
    """
    if isinstance(value, dict):
        options = ", ".join(f"{key}={one}" for key, one in value.items() if key != "name")
        return f"{value['name']}({options})" if options else str(value["name"])
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
