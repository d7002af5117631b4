"""What the runs of a table found: collected, recorded and stored."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tailormix.atomic import write_atomically
from tailormix.paper.planning import plan_runs
from tailormix.paper.statistics import Spread, holm, in_pooled_deviations, paired, ranks, spread
from tailormix.training import run_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from tailormix.paper.planning import Plan, PlannedRun
    from tailormix.paper.tables import Column, Row, Table, TableSetting


@dataclass(frozen=True)
class Cell:
    """All seeds of one row in one setting: values in the table's units by column and seed.

    ``run`` is the name of the folder they come from, so that numbers of other settings are never mixed in.
    """

    run: str
    values: Mapping[str, Mapping[int, float]]
    commits: tuple[str, ...] = ()
    versions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    seconds: Mapping[int, float] = field(default_factory=dict)

    @property
    def seeds(self) -> list[int]:
        """Seeds of which anything is known."""
        return sorted({seed for found in self.values.values() for seed in found})


Cells = dict[tuple[str, str], Cell]


def collect(table: Table, runs: Iterable[PlannedRun]) -> Cells:
    """The cells of all finished runs among these."""
    found: Cells = {}
    for run in runs:
        if (result := run.result()) is not None:
            cell = _of_run(table.columns_of(run.setting), run, result)
            key = (run.setting, run.row)
            found[key] = joined(found[key], cell) if key in found else cell
    return found


def _of_run(columns: Sequence[Column], run: PlannedRun, result: Mapping[str, Any]) -> Cell:
    record = run_folder.read_json(run.path / run_folder.EXPERIMENT) or {}
    values: dict[str, dict[int, float]] = {}
    for column in columns:
        value = at_path(result, column.path)
        if value is not None:
            values[column.name] = {run.seed: value * column.scale}
    versions = {name: (version,) for name, version in record.get("versions", {}).items() if version}
    commits = (record["commit"],) if record.get("commit") else ()
    return Cell(run.name, values, commits, versions, {run.seed: float(result.get("seconds_total", 0.0))})


def at_path(result: Mapping[str, Any], path: str) -> float | None:
    """The number at a dotted path; None where there is none, or it is not finite.

    >>> at_path({"test": {"before": {"ece": 0.1}}}, "test.before.ece")
    0.1
    >>> at_path({"test": {}}, "test.before.ece") is None
    True
    """
    found: Any = result
    for key in path.split("."):
        if not isinstance(found, dict) or key not in found:
            return None
        found = found[key]
    number = isinstance(found, (int, float)) and not isinstance(found, bool) and math.isfinite(found)
    return float(found) if number else None


def joined(older: Cell, newer: Cell) -> Cell:
    """Both cells' seeds, the newer one's numbers where both have some; other settings are not joined."""
    if older.run != newer.run:
        return newer
    columns = dict.fromkeys((*older.values, *newer.values))
    return Cell(
        newer.run,
        {name: {**older.values.get(name, {}), **newer.values.get(name, {})} for name in columns},
        tuple(dict.fromkeys((*older.commits, *newer.commits))),
        {
            name: tuple(dict.fromkeys((*older.versions.get(name, ()), *newer.versions.get(name, ()))))
            for name in dict.fromkeys((*older.versions, *newer.versions))
        },
        {**older.seconds, **newer.seconds},
    )


def merged(older: Cells, newer: Cells) -> Cells:
    """All cells of both, joined where both have one."""
    return older | {key: joined(older[key], cell) if key in older else cell for key, cell in newer.items()}


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


def stem_of(table: str, budget: str, protocol: str) -> str:
    """The file's name without its ending.

    >>> stem_of("regression", "paper", "paper"), stem_of("regression", "small", "released")
    ('regression', 'regression-small-released')
    """
    parts = [
        table,
        *(["small"] if budget == "small" else []),
        *(["released"] if protocol == "released" else []),
    ]
    return "-".join(parts)


def write_record(record: Mapping[str, Any], path: Path) -> Path:
    """Write a record, atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_atomically(path, json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def read_record(path: Path) -> dict[str, Any]:
    """Read a record; another format is refused."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    if not isinstance(record, dict) or record.get("schema") != SCHEMA:
        found = record.get("schema") if isinstance(record, dict) else type(record).__name__
        raise ValueError(f"{path} must be a results file of schema {SCHEMA}, got {found}")
    return record


def read_records(folder: Path) -> dict[str, dict[str, Any]]:
    """All records of a folder by their file's stem, in the order of their names."""
    return {path.stem: read_record(path) for path in sorted(folder.glob("*.json"))}


def cells_of(record: Mapping[str, Any]) -> Cells:
    """The runs that a record holds, to be joined with newer ones."""
    versions = {name: tuple(found) for name, found in record["versions"].items()}
    return {
        (setting["name"], row["name"]): Cell(
            row["run"],
            {
                column: {int(seed): value for seed, value in cell["ours"]["values"].items()}
                for column, cell in row["cells"].items()
                if "ours" in cell
            },
            tuple(row["commits"]),
            versions,
        )
        for setting in record["settings"]
        for row in setting["rows"]
        if "run" in row
    }


def whole_record(plan: Plan, path: Path) -> dict[str, Any]:
    """All that is known of a table: finished runs beside the plan's, and what the file at ``path`` holds."""
    cells: Cells = cells_of(read_record(path)) if path.is_file() else {}
    if plan.runs:
        everything = plan_runs(
            plan.table, plan.runs[0].out, seeds=plan.seeds, budget=plan.budget, protocol=plan.protocol
        )
        cells = merged(cells, collect(plan.table, everything.runs))
    known = {(s.name, r.name) for s in plan.table.settings for r in plan.table.rows if r.runs_in(s.name)}
    return record_of(
        plan.table, {key: cell for key, cell in cells.items() if key in known}, plan.budget, plan.protocol
    )
