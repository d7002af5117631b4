"""Results as Markdown: one table a setting, and the paired tests below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .result_text import NONE, against_text, difference_text, heading, origin, ours_text, paper_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

ARROWS = {"lower": " ↓", "higher": " ↑", "none": ""}


def table_block(record: Mapping[str, Any], level: int = 2) -> str:
    """A record of results under a heading of its own."""
    where = [f"section {record['section']}"] if record["section"] else []
    where += [f"`{record['label']}`"] if record["label"] else []
    lines = [f"{'#' * level} {heading(record)}", ""]
    lines += [
        f"`tailormix reproduce {command_of(record)}`" + (f" · paper: {', '.join(where)}" if where else "")
    ]
    lines += ["", record["note"]] if record["note"] else []
    for setting in record["settings"]:
        lines += ["", f"{'#' * (level + 1)} {setting['title']}", "", *numbers_table(setting)]
        lines += paired_table(setting)
    return "\n".join([*lines, "", f"Made with {origin(record)}." if origin(record) else ""]).rstrip() + "\n"


def command_of(record: Mapping[str, Any]) -> str:
    """The words that make these results again."""
    options = [f" --{key} {record[key]}" for key in ("budget", "protocol") if record[key] != "paper"]
    return str(record["table"]) + "".join(options)


def numbers_table(setting: Mapping[str, Any]) -> list[str]:
    """Rows against columns: ours, and beside it the paper's and the difference where it gives any."""
    shown = [(column, _beside(setting, column["name"])) for column in setting["columns"]]
    header = ["row"]
    for column, beside in shown:
        title = column["title"] + ARROWS[column["better"]]
        header += [title, *(["paper", "difference"] if beside else [])]
    body = [
        [_title(row), *(text for column, beside in shown for text in _cells(row, column, beside))]
        for row in setting["rows"]
    ]
    return markdown_table(header, body)


def paired_table(setting: Mapping[str, Any]) -> list[str]:
    """Every row against ERM and Mixup, column by column; nothing where nothing was tested."""
    pairs = [(column, method) for column in setting["columns"] for method in setting["baselines"]]
    tested = [
        (column, method)
        for column, method in pairs
        if any(method in _cell(row, column["name"]).get("against", {}) for row in setting["rows"])
    ]
    if not tested:
        return []
    header = ["row", *(f"{column['title']} against {setting['baselines'][m]}" for column, m in tested)]
    body = [
        [_title(row), *(against_text(_cell(row, c["name"]), m, c["digits"]) for c, m in tested)]
        for row in setting["rows"]
        if any(_cell(row, column["name"]).get("against") for column, _ in tested)
    ]
    summary = "<summary>Paired tests over seeds</summary>"
    return ["", "<details>", summary, "", *markdown_table(header, body), "", "</details>"]


def markdown_table(header: Sequence[str], body: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table.

    >>> markdown_table(["a", "b"], [["1", "2"]])
    ['| a | b |', '|---|---|', '| 1 | 2 |']
    """
    rows = [header, *body]
    texts = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return [texts[0], "|" + "---|" * len(header), *texts[1:]]


def _cell(row: Mapping[str, Any], column: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = row["cells"].get(column, {})
    return found


def _beside(setting: Mapping[str, Any], column: str) -> bool:
    return any("paper" in _cell(row, column) for row in setting["rows"])


def _title(row: Mapping[str, Any]) -> str:
    group = f"{row['group']}: " if row["group"] else ""
    return f"{group}{row['title']}" + (" †" if row["reported"] else "")


def _cells(row: Mapping[str, Any], column: Mapping[str, Any], beside: bool) -> list[str]:
    cell, digits = _cell(row, column["name"]), column["digits"]
    texts = [_marked(ours_text(cell, digits), cell.get("ours"))]
    if beside:
        texts += [_marked(paper_text(cell, digits), cell.get("paper")), difference_text(cell)]
    return texts


def _marked(text: str, number: Mapping[str, Any] | None) -> str:
    """Best in bold, second best underlined."""
    place = (number or {}).get("place")
    if text == NONE or place not in (1, 2):
        return text
    return f"**{text}**" if place == 1 else f"<u>{text}</u>"
