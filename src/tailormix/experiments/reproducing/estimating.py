"""What a plan would cost, before anything is started. Free of torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailormix.data.catalogue import DATASETS
from tailormix.methods import METHODS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .planning import Plan, PlannedRun

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
        "experiment": runs[0].experiment.flat(),
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
    from tailormix.data.files.owners import PUBLISHED
    from tailormix.data.files.root import data_root
    from tailormix.data.files.verify import state

    names = dict.fromkeys(name for run in runs for name in data_of(run))
    root = data_root() if names else None
    return {
        name: f"tailormix data get {name}"
        for name in names
        if root is not None and state(PUBLISHED[name], root) in states
    }


def data_of(run: PlannedRun) -> set[str]:
    """Published data sets that a run reads from the common folder."""
    data, also = run.experiment.data, run.experiment.training.also
    elsewhere = {"root", "slice"} & set(data.options)
    names = (*(() if elsewhere else (data.name,)), *also)
    return {name for name in names if DATASETS[name].source == "published"}
