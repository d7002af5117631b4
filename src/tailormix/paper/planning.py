"""Which runs a table takes, and how long they last."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tailormix.data.registry import DATASETS
from tailormix.experiments.experiment import run_name, write_toml
from tailormix.experiments.parallel import Job
from tailormix.experiments.shifts import missing_shifts
from tailormix.methods import METHODS
from tailormix.training import run_folder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tailormix.experiments.experiment import Experiment
    from tailormix.paper.tables import Table


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
        found = run_folder.read_json(self.path / run_folder.RESULT)
        return None if found is None or missing_shifts(self.experiment.training.also, found) else found

    def job(self) -> Job:
        """What starts it; writes the experiment's file, which is the same for all seeds and tables."""
        path = self.out / FILES / f"{self.name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        plain = replace(self.experiment, training=replace(self.experiment.training, also=()))
        write_toml(plain, path)
        also = ", ".join(f'"{name}"' for name in self.experiment.training.also)
        judged = ("--set", f"also=[{also}]") if also else ()
        return Job((str(path), *judged, "--seeds", str(self.seed), "--out", str(self.out)), self.path)


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


#: a step forward and back costs about three forward passes
WITH_GRADIENT = 3
#: hours of one plain training of the shipped experiments that small budgets use, on one core
SMALL_HOURS = {
    "cifar10-cpu": 0.03,
    "cifar10-resnet8": 0.2,
    "digits-mlp": 0.002,
    "digits-resnet8": 0.01,
    "digits-vit": 0.01,
    "airfoil": 0.004,
    "exchange-rate": 0.15,
    "moons": 0.001,
    "circles": 0.001,
}


def relative_cost(method: str) -> float:
    """Cost of a method's step in steps of plain training, from the samples it forwards.

    >>> relative_cost("erm"), relative_cost("rankmixup")
    (1.0, 4.0)
    """
    cost = 0.0
    for term in METHODS[method].passes.split("+"):
        count = term.split("n")[0].strip() or "1"
        cost += int(count) * (1 if "without" in term else WITH_GRADIENT)
    return cost / WITH_GRADIENT


def estimate(plan: Plan) -> list[dict[str, Any]]:
    """One row for each cell: settings, runs, how many are finished, and hours for the rest.

    Finished seeds of a cell are the best guide; before there are any, the rough figure of the file is.
    """
    return [_cell(plan, setting, row) for setting, row in plan.cells]


def _cell(plan: Plan, setting: str, row: str) -> dict[str, Any]:
    runs = [run for run in plan.runs if (run.setting, run.row) == (setting, row)]
    results = [result for run in runs if (result := run.result()) is not None]
    seconds = [float(result["seconds_total"]) for result in results if "seconds_total" in result]
    block = plan.table.setting(setting)
    small = plan.budget == "small" and bool(block.small)
    plain = SMALL_HOURS.get(block.small, 0.0) if small else block.hours
    hours = (
        sum(seconds) / len(seconds) / 3600
        if seconds
        else plain * relative_cost(runs[0].experiment.method.name)
    )
    return {
        "setting": setting,
        "row": row,
        "run": runs[0].name,
        "experiment": runs[0].experiment.to_dict(),
        "seeds": [run.seed for run in runs],
        "finished": len(results),
        "hours": hours,
        "hours left": hours * (len(runs) - len(results)),
        "device": "cpu" if small else block.device,
        "measured": bool(seconds),
    }


def absent_data(
    runs: Sequence[PlannedRun], states: Sequence[str] = ("absent", "incomplete")
) -> dict[str, str]:
    """Data sets that the runs need and that are not on this machine, with what gets them."""
    from tailormix.data.files.location import data_root
    from tailormix.data.files.verify import state

    names = dict.fromkeys(name for run in runs for name in data_of(run))
    root = data_root() if names else None
    return {
        name: f"tailormix data get {name}"
        for name in names
        if root is not None and state(name, root) in states
    }


def data_of(run: PlannedRun) -> set[str]:
    """Published data sets that a run reads from the common folder."""
    data, also = run.experiment.data, run.experiment.training.also
    elsewhere = {"root", "slice"} & set(data.options)
    names = (*(() if elsewhere else (data.name,)), *also)
    return {name for name in names if DATASETS[name].source == "published"}
