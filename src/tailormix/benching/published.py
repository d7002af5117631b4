"""The paper's efficiency columns, from the data files of its tables."""

from __future__ import annotations

import functools
import statistics
import tomllib
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tailormix.data.splits import Task


FILES: dict[Task, str] = {
    "classification": "efficiency-classification.toml",
    "regression": "efficiency-regression.toml",
}
#: whose time the paper's others are divided by: its regression table has no row of Mixup
PEERS: dict[Task, str] = {"classification": "mixup", "regression": "sk-mixup"}
TIME, BATCHES = "seconds_per_epoch", "batches_in_memory"


def columns(task: Task) -> dict[str, dict[str, Any]]:
    """By method: batches in memory, and time an epoch over that of the peer, by data set.

    A data set's times are compared among themselves only. Empty where the paper's files do not ship.
    """
    rows = {row["name"]: row["values"] for row in _table(task).get("rows", [])}
    peer = rows.get(PEERS[task], {})
    return {
        name: {
            "batches": max(int(cells[BATCHES]) for cells in values.values()),
            "time": {data: cells[TIME] / peer[data][TIME] for data, cells in values.items() if data in peer},
            "to": PEERS[task],
        }
        for name, values in rows.items()
    }


def ratio(task: Task, slower: str, faster: str) -> float | None:
    """How many times as long an epoch of ``slower`` takes in the paper's table, over its data sets."""
    found = columns(task)
    if slower not in found or faster not in found:
        return None
    pairs = [(time, found[faster]["time"][data]) for data, time in found[slower]["time"].items()]
    return statistics.fmean(a / b for a, b in pairs)


@functools.cache
def _table(task: Task) -> dict[str, Any]:
    path = resources.files("tailormix").joinpath("paper", "data", FILES[task])
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
