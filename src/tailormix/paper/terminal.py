"""Results and forecasts as tables in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailormix.paper.results_page import (
    LEGEND,
    against_text,
    difference_text,
    facts_of,
    heading,
    origin,
    ours_text,
    paper_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import Console
    from rich.table import Table


STYLES = {1: "bold", 2: "underline"}
DIRECTIONS = {"lower": ", lower is better", "higher": ", higher is better", "none": ""}


def print_result(record: Mapping[str, Any], console: Console) -> None:
    """Print a record of results: heading, tables or facts, legend and origin."""
    console.print(heading(record), style="bold", highlight=False)
    for setting in record["settings"]:
        for column in setting["columns"]:
            console.print()
            console.print(column_table(setting, column))
    facts = record.get("facts", {})
    for name, value in facts_of(facts):
        console.print(f"{name}: {value}", highlight=False)
    if not record["settings"] and not facts:
        console.print("no finished runs", highlight=False)
        return
    ends = (LEGEND if record["settings"] else "", facts.get("caption", ""), record["note"], origin(record))
    for line in (*ends, ", ".join(record.get("files", []))):
        if line:
            console.print(f"\n{line}", style="dim", highlight=False)


def column_table(setting: Mapping[str, Any], column: Mapping[str, Any]) -> Table:
    """The rows of one setting in one column."""
    from rich.table import Table

    title = f"{setting['title']}: {column['title']}{DIRECTIONS[column['better']]}"
    table = Table(title=title, title_justify="left", box=None, header_style="bold", pad_edge=False)
    cells = [row["cells"].get(column["name"], {}) for row in setting["rows"]]
    beside = any("paper" in cell for cell in cells)
    table.add_column("row", no_wrap=True)
    for name in ("ours (n)", *(("paper", "difference") if beside else ())):
        table.add_column(name, justify="right", no_wrap=True)
    for baseline in setting["baselines"].values():
        table.add_column(f"against {baseline}", justify="right")
    for row, cell in zip(setting["rows"], cells, strict=True):
        if cell:
            table.add_row(_title(row), *_texts(setting, column, cell, beside))
    return table


def _title(row: Mapping[str, Any]) -> str:
    group = f"{row['group']}: " if row["group"] else ""
    return f"{group}{row['title']}" + (" †" if row["reported"] else "")


def _texts(
    setting: Mapping[str, Any], column: Mapping[str, Any], cell: Mapping[str, Any], beside: bool
) -> Iterator[Any]:
    from rich.text import Text

    digits = column["digits"]
    yield Text(ours_text(cell, digits), STYLES.get(cell.get("ours", {}).get("place"), ""))
    if beside:
        yield Text(paper_text(cell, digits), STYLES.get(cell.get("paper", {}).get("place"), ""))
        yield difference_text(cell)
    for method in setting["baselines"]:
        yield against_text(cell, method, digits)


WIDE = 140  # characters, from which on the runs' folders are shown too
#: keys of an experiment that every run has, shown in this order
SHOWN = ("epochs", "batch", "optimiser", "schedule", "loss", "precision", "imitate", "also")


def print_forecast(forecast: Mapping[str, Any], console: Console) -> None:
    """Print one line a cell, its experiment, and the sum for each device."""
    console.print(heading(forecast), style="bold", highlight=False)
    for name, cells in _by_setting(forecast):
        console.print(f"\n{name}: {settings_text(cells[0]['experiment'])}", highlight=False)
        console.print(_table(cells, folders=console.width >= WIDE))
    for line in _sums(forecast):
        console.print(line, highlight=False)


def _table(cells: list[dict[str, Any]], folders: bool) -> Any:
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("row", "method", "seeds", "finished", "one run", "left", *(["folder"] if folders else [])):
        table.add_column(column, overflow="fold", no_wrap=column in ("row", "one run", "left"))
    for cell in cells:
        one = hours_text(cell["hours"]) + ("" if cell["measured"] else " (rough)")
        table.add_row(
            cell["row"],
            options_text(cell["experiment"]["method"]),
            f"{len(cell['seeds'])}",
            f"{cell['finished']}",
            one,
            hours_text(cell["hours left"]),
            *([cell["run"]] if folders else []),
        )
    return table


def _by_setting(forecast: Mapping[str, Any]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    names = dict.fromkeys(cell["setting"] for cell in forecast["cells"])
    for name in names:
        yield name, [cell for cell in forecast["cells"] if cell["setting"] == name]


def _sums(forecast: Mapping[str, Any]) -> Iterator[str]:
    """Totals, data that is missing, and settings that are left out."""
    yield ""
    if not forecast["cells"]:
        yield "nothing to train"
    for device in dict.fromkeys(cell["device"] for cell in forecast["cells"]):
        cells = [cell for cell in forecast["cells"] if cell["device"] == device]
        left = sum(cell["hours left"] for cell in cells)
        runs = sum(len(cell["seeds"]) - cell["finished"] for cell in cells)
        each = f", {hours_text(left / forecast['jobs'])} with {forecast['jobs']} at a time"
        where = "CPU" if device == "cpu" else "one A100"
        yield f"{runs} runs on {where}: {hours_text(left)}{each if forecast['jobs'] > 1 else ''}"
    for name in forecast["left out"]:
        yield f"{name} has no small version and is left out"
    for name, command in forecast["absent data"].items():
        yield f"data set {name} is not here: {command}"


def settings_text(experiment: Mapping[str, Any]) -> str:
    """The parts of an experiment but for its method.

    >>> settings_text({"data": {"name": "moons"}, "model": {"name": "mlp"}, "epochs": 3, "batch": 64})
    'moons, mlp, epochs 3, batch 64'
    """
    parts = [options_text(experiment[key]) for key in ("data", "model")]
    for key in SHOWN:
        value = experiment.get(key)
        if value and value not in ("32-true", {"name": "default"}):
            parts.append(f"{key} {options_text(value)}")
    return ", ".join(parts)


def options_text(value: Any) -> str:
    """A name with its options.

    >>> options_text({"name": "mixup", "alpha": 0.5})
    'mixup(alpha=0.5)'
    """
    if isinstance(value, dict):
        options = ", ".join(f"{key}={one}" for key, one in value.items() if key != "name")
        return f"{value['name']}({options})" if options else str(value["name"])
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def hours_text(hours: float) -> str:
    """Hours in the unit that fits.

    >>> hours_text(0.001), hours_text(0.5), hours_text(30.0), hours_text(100.0)
    ('4 s', '30 min', '30.0 h', '4.2 days')
    """
    if hours < 0.025:
        return f"{hours * 3600:.0f} s"
    if hours < 1.5:
        return f"{hours * 60:.0f} min"
    return f"{hours:.1f} h" if hours < 48 else f"{hours / 24:.1f} days"
