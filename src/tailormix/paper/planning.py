"""Which runs a table takes, and how long they last."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tailormix import checks
from tailormix.data.files.location import data_root
from tailormix.data.files.verify import state
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
GRADIENT_COST = 3  # a pass forward and back, in forward passes
#: hours of one plain training of the shipped experiments that small budgets use, on one core
SMALL_HOURS = {"cifar10-cpu": 0.03, "exchange-rate-short": 0.05}


@dataclass(frozen=True)
class PlannedRun:
    """One seed of one row in one setting. Tables that need the same experiment share its folder."""

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
        """``result.json``, if it is finished and evaluated on all that the table needs."""
        found = run_folder.read_json(self.path / run_folder.RESULT)
        return None if found is None or missing_shifts(self.experiment.training.also, found) else found

    def job(self) -> Job:
        """What starts it; writes the experiment's file, which is the same for all seeds and tables."""
        path = self.out / FILES / f"{self.name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_toml(replace(self.experiment, training=replace(self.experiment.training, also=())), path)
        also = ", ".join(f'"{name}"' for name in self.experiment.training.also)
        shifts = ("--set", f"also=[{also}]") if also else ()
        return Job((str(path), *shifts, "--seeds", str(self.seed), "--out", str(self.out)), self.path)

    def published_data(self) -> list[str]:
        """Published data sets that it reads from the common folder."""
        data = self.experiment.data
        elsewhere = {"root", "slice"} & set(data.options)
        names = (*(() if elsewhere else (data.name,)), *self.experiment.training.also)
        return [name for name in names if name in DATASETS and DATASETS[name].source == "published"]


@dataclass(frozen=True)
class RunPlan:
    """The runs of a table; ``left_out`` are settings that have no small version."""

    table: Table
    budget: str
    protocol: str
    seeds: tuple[int, ...]
    runs: tuple[PlannedRun, ...]
    left_out: tuple[str, ...] = ()

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
) -> RunPlan:
    """The runs of a table; ``rows`` are names or patterns of rows, settings or ``setting/row``."""
    chosen = tuple(range(table.repeats)) if seeds is None else tuple(seeds)
    cells = select_cells(table, rows)
    without = [s.name for s in table.settings if budget == "small" and not s.has_small]
    runs = []
    for setting, row in cells:
        if setting not in without:
            experiment = table.experiment(setting, row, budget, protocol)
            for seed in chosen:
                seeded = replace(experiment, training=replace(experiment.training, seed=seed))
                runs.append(PlannedRun(setting, row, seed, seeded, out))
    left_out = tuple(name for name in without if name in {setting for setting, _ in cells})
    return RunPlan(table, budget, protocol, chosen, tuple(runs), left_out)


def select_cells(table: Table, patterns: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Setting and row of what runs and matches; a pattern that matches nothing is an error."""

    def matches(pattern: str, setting: str, row: str) -> bool:
        return any(fnmatchcase(name, pattern) for name in (row, setting, f"{setting}/{row}"))

    cells = table.cells()
    for pattern in patterns:
        if not any(matches(pattern, *cell) for cell in cells):
            raise ValueError(_no_match(pattern, table))
    return [cell for cell in cells if not patterns or any(matches(pattern, *cell) for pattern in patterns)]


def _no_match(pattern: str, table: Table) -> str:
    cells = table.cells()
    rows = list(dict.fromkeys(row for _, row in cells))
    settings = list(dict.fromkeys(setting for setting, _ in cells))
    if any(row.reported and fnmatchcase(row.name, pattern) for row in table.rows):
        return f"rows {pattern!r} of {table.name} are reported by the paper from others: nothing to run"
    known = [*rows, *settings, *(f"{setting}/{row}" for setting, row in cells)]
    hint = f"; did you mean {close!r}?" if (close := checks.closest(pattern, known)) else "."
    return (
        f"no row of {table.name} matches {pattern!r}{hint} Rows: {', '.join(rows)}. "
        f"Settings: {', '.join(settings)}"
    )


def estimate(plan: RunPlan) -> list[dict[str, Any]]:
    """Settings, runs, how many are finished and hours for the rest, for each row in each setting.

    Hours are those of finished seeds; before there are any, the rough figure of the table's file.
    """
    cells: dict[tuple[str, str], list[PlannedRun]] = {}
    for run in plan.runs:
        cells.setdefault((run.setting, run.row), []).append(run)
    return [_estimate(plan, runs) for runs in cells.values()]


def _estimate(plan: RunPlan, runs: list[PlannedRun]) -> dict[str, Any]:
    first = runs[0]
    results = [result for run in runs if (result := run.result()) is not None]
    seconds = [float(result["seconds_total"]) for result in results if "seconds_total" in result]
    setting = plan.table.setting(first.setting)
    small = plan.budget == "small" and bool(setting.small)
    if seconds:
        hours = sum(seconds) / len(seconds) / 3600
    else:
        plain = SMALL_HOURS.get(setting.small, 0.0) if small else setting.hours
        hours = plain * relative_cost(first.experiment.method.name)
    return {
        "setting": first.setting,
        "row": first.row,
        "run": first.name,
        "experiment": first.experiment.to_dict(),
        "seeds": [run.seed for run in runs],
        "finished": len(results),
        "hours": hours,
        "hours left": hours * (len(runs) - len(results)),
        "device": "cpu" if small else setting.device,
        "measured": bool(seconds),
    }


def relative_cost(method: str) -> float:
    """Cost of a method's step in steps of plain training, from the samples it forwards; 1 for a plug-in.

    >>> relative_cost("erm"), relative_cost("rankmixup")
    (1.0, 4.0)
    """
    if method not in METHODS:
        return 1.0
    cost = 0.0
    for term in METHODS[method].passes.split("+"):
        count = term.split("n")[0].strip() or "1"
        cost += int(count) * (1 if "without" in term else GRADIENT_COST)
    return cost / GRADIENT_COST


def missing_data(
    runs: Sequence[PlannedRun], states: Sequence[str] = ("absent", "incomplete")
) -> dict[str, str]:
    """Data sets that the runs need and that are not on this machine, with the command that gets them."""
    names = dict.fromkeys(name for run in runs for name in run.published_data())
    return {name: f"tailormix data get {name}" for name in names if state(name, data_root()) in states}
