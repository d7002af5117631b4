"""Results as files: one JSON a table, budget and protocol, to which later runs are added. Free of torch."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tailormix.atomic import write_atomically

from .collecting import Cell, collect, merged
from .planning import plan_runs
from .recording import SCHEMA, record_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from .collecting import Cells
    from .planning import Plan


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
