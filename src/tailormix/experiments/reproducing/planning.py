"""Which runs a table takes: rows, settings and seeds, each with its folder. Free of torch."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tailormix.experiments.many import Task
from tailormix.experiments.running import run_name
from tailormix.experiments.shifts import still_to_judge
from tailormix.experiments.writing import write_toml
from tailormix.training import folder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tailormix.experiments.paper import Table
    from tailormix.experiments.record import Experiment

FILES = "files"


@dataclass(frozen=True)
class PlannedRun:
    """One seed of one row in one setting. Tables that ask for the same experiment share its folder."""

    setting: str
    row: str
    seed: int
    experiment: Experiment
    out: Path

    @cached_property
    def name(self) -> str:
        """The folder of all its seeds."""
        return run_name(self.experiment)

    @property
    def path(self) -> Path:
        """Its own folder."""
        return self.out / self.name / f"seed-{self.seed}"

    def result(self) -> dict[str, Any] | None:
        """What it found, if it is finished and judged on all that the table asks for."""
        found = folder.read_json(self.path / folder.RESULT)
        return None if found is None or still_to_judge(self.experiment.training.also, found) else found

    def task(self) -> Task:
        """What starts it; writes the experiment's file, which is the same for all seeds and tables."""
        path = self.out / FILES / f"{self.name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        plain = replace(self.experiment, training=replace(self.experiment.training, also=()))
        write_toml(plain, path)
        also = ", ".join(f'"{name}"' for name in self.experiment.training.also)
        judged = ("--set", f"also=[{also}]") if also else ()
        return Task((str(path), *judged, "--seeds", str(self.seed), "--out", str(self.out)), self.path)


@dataclass(frozen=True)
class Plan:
    """A table with what was asked of it, and the runs that answer.

    ``left_out`` names settings that have no small version.
    """

    table: Table
    budget: str
    protocol: str
    seeds: tuple[int, ...]
    runs: tuple[PlannedRun, ...]
    left_out: tuple[str, ...] = ()

    @property
    def cells(self) -> list[tuple[str, str]]:
        """Setting and row of every cell to be run."""
        return list(dict.fromkeys((run.setting, run.row) for run in self.runs))

    def unfinished(self) -> list[PlannedRun]:
        """Runs still to be carried out, each folder once."""
        return [run for run in {run.path: run for run in self.runs}.values() if run.result() is None]


def plan_runs(
    table: Table,
    out: Path,
    *,
    rows: Sequence[str] = (),
    seeds: Sequence[int] | None = None,
    budget: str = "paper",
    protocol: str = "paper",
) -> Plan:
    """The runs of a table; ``rows`` are names or patterns of rows, settings or ``setting/row``."""
    chosen = tuple(range(table.repeats)) if seeds is None else tuple(seeds)
    small = budget == "small"
    without = {s.name for s in table.settings if small and not s.small and s.device != "cpu"}
    cells = selected(table, rows)
    runs = [
        PlannedRun(setting, row, seed, _seeded(experiment, seed), out)
        for setting, row in cells
        if setting not in without
        for experiment in [table.experiment(setting, row, budget, protocol)]
        for seed in chosen
    ]
    left_out = tuple(s.name for s in table.settings if s.name in without & {name for name, _ in cells})
    return Plan(table, budget, protocol, chosen, tuple(runs), left_out)


def _seeded(experiment: Experiment, seed: int) -> Experiment:
    return replace(experiment, training=replace(experiment.training, seed=seed))


def selected(table: Table, patterns: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Setting and row of the cells that run and match; a pattern that matches nothing is an error."""
    cells = [(s.name, r.name) for s in table.settings for r in table.rows if r.runs_in(s.name)]
    if not patterns:
        return cells
    for pattern in patterns:
        if not any(_matches(pattern, *cell) for cell in cells):
            raise ValueError(_nothing(pattern, table, cells))
    return [cell for cell in cells if any(_matches(pattern, *cell) for pattern in patterns)]


def _matches(pattern: str, setting: str, row: str) -> bool:
    return any(fnmatchcase(name, pattern) for name in (row, setting, f"{setting}/{row}"))


def _nothing(pattern: str, table: Table, cells: Sequence[tuple[str, str]]) -> str:
    rows = list(dict.fromkeys(row for _, row in cells))
    settings = list(dict.fromkeys(setting for setting, _ in cells))
    whole = [f"{setting}/{row}" for setting, row in cells]
    reported = [row.name for row in table.rows if row.reported]
    if any(fnmatchcase(name, pattern) for name in reported):
        return f"rows {pattern!r} of {table.name} are reported by the paper from others: nothing to run"
    close = difflib.get_close_matches(pattern, [*rows, *settings, *whole], n=1, cutoff=0.4)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    return (
        f"no row of {table.name} matches {pattern!r}{hint} Rows: {', '.join(rows)}. "
        f"Settings: {', '.join(settings)}"
    )
