"""Results on the terminal: one narrow table for each setting and column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .result_text import (
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
