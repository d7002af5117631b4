"""What finished runs found, as numbers by setting, row, column and seed. Free of torch."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tailormix.training import folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tailormix.experiments.paper import Column, Table

    from .planning import PlannedRun


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
    record = folder.read_json(run.path / folder.EXPERIMENT) or {}
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
