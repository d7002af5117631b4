"""What ``tailormix list`` shows: one function a family, none of which imports torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailormix.data.catalogue import DATASETS
from tailormix.experiments.catalogue import EXPERIMENTS
from tailormix.experiments.paper.catalogue import PAPER
from tailormix.losses.catalogue import LOSSES
from tailormix.methods import METHODS
from tailormix.models.catalogue import MODELS

if TYPE_CHECKING:
    from collections.abc import Callable

Row = dict[str, Any]


def methods() -> list[Row]:
    """Name, one line, section of the paper, defaults and cost of every method."""
    return [
        {
            "name": name,
            "what": entry.summary,
            "paper": entry.section,
            "defaults": entry.defaults,
            "samples forwarded": entry.passes,
        }
        for name, entry in METHODS.items()
    ]


def losses() -> list[Row]:
    """Name, one line, section of the paper and defaults of every loss."""
    return [
        {
            "name": name,
            "what": record.summary,
            "paper": record.section,
            "defaults": record.defaults,
            "soft targets": "yes" if record.soft_targets else "no",
        }
        for name, record in LOSSES.items()
    ]


def models() -> list[Row]:
    """Name, one line and kind of input of every model."""
    return [{"name": name, "what": m.summary, "inputs": m.kind} for name, m in MODELS.items()]


def datasets() -> list[Row]:
    """Name, one line, task and origin of every data set."""
    return [
        {"name": name, "what": d.summary, "task": d.task, "source": d.source} for name, d in DATASETS.items()
    ]


def experiments() -> list[Row]:
    """Name and one line of every experiment that ships with the package."""
    return [{"name": name, "what": e.summary} for name, e in EXPERIMENTS.items()]


def tables() -> list[Row]:
    """Name, title, kind, section and runs of every table and figure that ``reproduce`` knows."""
    values = {name: paper.values for name, paper in PAPER.items()}
    return [
        {"name": name, "what": v["title"], "kind": v["kind"], "paper": v.get("section", "")}
        for name, v in values.items()
    ]


FAMILIES: dict[str, Callable[[], list[Row]]] = {
    "methods": methods,
    "losses": losses,
    "models": models,
    "datasets": datasets,
    "experiments": experiments,
    "tables": tables,
}
