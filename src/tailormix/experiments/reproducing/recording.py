"""A table's results as one plain record: what is shown, kept as JSON and put on the page. Free of torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .statistics import Spread, holm, in_pooled_deviations, paired, ranks, spread

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tailormix.experiments.paper import Column, Row, Table, TableSetting

    from .collecting import Cell, Cells

SCHEMA = 1
#: methods that every other row is tested against
BASELINES = ("erm", "mixup")


def record_of(table: Table, cells: Cells, budget: str, protocol: str) -> dict[str, Any]:
    """Settings, columns, rows and the numbers of every cell; a small budget never shows the paper's."""
    beside = budget == "paper" and table.kind == "table"
    blocks = [_block(table, setting, cells, beside, budget) for setting in table.settings]
    return {
        **described(table, budget, protocol),
        "commits": sorted({commit for cell in cells.values() for commit in cell.commits}),
        "versions": _versions(cells.values()),
        "settings": [block for block in blocks if block["rows"]],
    }


def described(table: Table, budget: str, protocol: str) -> dict[str, Any]:
    """What a record says before its numbers."""
    return {
        "schema": SCHEMA,
        "table": table.name,
        "title": table.title,
        "kind": table.kind,
        "label": table.label,
        "section": table.section,
        "note": " ".join(table.note.split()),
        "budget": budget,
        "protocol": protocol,
        "repeats": table.repeats,
    }


def _versions(cells: Iterable[Cell]) -> dict[str, list[str]]:
    found: dict[str, set[str]] = {}
    for cell in cells:
        for name, versions in cell.versions.items():
            found.setdefault(name, set()).update(versions)
    return {name: sorted(found[name]) for name in sorted(found)}


def _block(table: Table, setting: TableSetting, cells: Cells, beside: bool, budget: str) -> dict[str, Any]:
    """A setting with its rows: those that ran, and, beside the paper, those that it reports."""
    ran = {row.name: cells[setting.name, row.name] for row in table.rows if (setting.name, row.name) in cells}
    shown = [
        row
        for row in table.rows
        if row.name in ran or (beside and ran and row.reported and row.stands_in(setting.name))
    ]
    columns = table.columns_of(setting.name)
    numbers = {column.name: _column(column, setting.name, shown, ran, beside) for column in columns}
    return {
        "name": setting.name,
        "title": setting.titled(budget),
        "columns": [
            {"name": c.name, "title": c.title, "better": c.better, "digits": c.digits}
            for c in columns
            if any(numbers[c.name].values())
        ],
        "baselines": _baselines(setting.name, shown),
        "rows": [_row(row, ran.get(row.name), numbers) for row in shown],
    }


def _row(row: Row, cell: Cell | None, numbers: Mapping[str, Mapping[str, dict[str, Any]]]) -> dict[str, Any]:
    ours = {} if cell is None else {"run": cell.run, "seeds": cell.seeds, "commits": list(cell.commits)}
    found = {column: by_row[row.name] for column, by_row in numbers.items() if by_row[row.name]}
    return {
        "name": row.name,
        "title": row.title,
        "group": row.group,
        "reported": row.reported,
        **ours,
        "cells": found,
    }


def _baselines(setting: str, rows: Iterable[Row]) -> dict[str, str]:
    """The row of each baseline method: the one of its name, else the first that uses it."""
    found: dict[str, str] = {}
    for method in BASELINES:
        using = [
            row.name
            for row in rows
            if not row.reported and row.method_for(setting, "paper").get("name") == method
        ]
        if using:
            found[method] = method if method in using else using[0]
    return found


def _column(
    column: Column, setting: str, rows: list[Row], ran: Mapping[str, Cell], beside: bool
) -> dict[str, dict[str, Any]]:
    """One column's numbers by row."""
    values = {row.name: ran[row.name].values.get(column.name, {}) if row.name in ran else {} for row in rows}
    numbers: dict[str, dict[str, Any]] = {row.name: {} for row in rows}
    for row in rows:
        ours = (
            spread([values[row.name][seed] for seed in sorted(values[row.name])])
            if values[row.name]
            else None
        )
        if ours is not None:
            numbers[row.name]["ours"] = {
                "values": {str(s): values[row.name][s] for s in sorted(values[row.name])}
            }
            numbers[row.name]["ours"] |= {"n": ours.n, "mean": ours.mean, "std": ours.std}
        if beside:
            numbers[row.name] |= _published(row, setting, column.name, ours)
    _put_ranks(numbers, rows, column.better)
    for method, baseline in _baselines(setting, rows).items():
        _put_tests(numbers, values, method, baseline)
    return numbers


def _published(row: Row, setting: str, column: str, ours: Spread | None) -> dict[str, Any]:
    value = row.values.get(setting, {}).get(column)
    if value is None:
        return {}
    found: dict[str, Any] = {"paper": {"mean": value.mean, "std": value.std}}
    if ours is not None:
        found["difference"] = in_pooled_deviations(ours, value.mean, value.std)
    return found


def _put_ranks(numbers: Mapping[str, dict[str, Any]], rows: list[Row], better: str) -> None:
    """Places among ours, among the paper's own, and among those it reports from others."""
    groups = {
        "ours": [row.name for row in rows if "ours" in numbers[row.name]],
        "paper": [row.name for row in rows if "paper" in numbers[row.name] and not row.reported],
        "reported": [row.name for row in rows if "paper" in numbers[row.name] and row.reported],
    }
    for group, names in groups.items():
        key = "ours" if group == "ours" else "paper"
        places = ranks({name: numbers[name][key]["mean"] for name in names}, better)
        for name, place in places.items():
            numbers[name][key]["place"] = place


def _put_tests(
    numbers: Mapping[str, dict[str, Any]],
    values: Mapping[str, Mapping[int, float]],
    method: str,
    baseline: str,
) -> None:
    """Paired tests of every row against a baseline, corrected over the rows (Holm)."""
    found = {
        name: test
        for name, own in values.items()
        if name != baseline and own and (test := paired(own, values[baseline])) is not None
    }
    tested = [name for name, test in found.items() if test.p is not None]
    corrected = dict(zip(tested, holm([found[name].p or 0.0 for name in tested]), strict=True))
    for name, test in found.items():
        record = {"n": test.n, "difference": test.difference, "p": test.p, "p_holm": corrected.get(name)}
        numbers[name].setdefault("against", {})[method] = record
