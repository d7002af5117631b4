"""Learning curves: what each epoch brought, the mean over seeds as a line and their range as a band."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tailormix.metrics.catalogue import METRICS
from tailormix.reports.style import new_figure, percent_axis, plain_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from tailormix.reports.grouping import Group
    from tailormix.reports.lines import Look

FRACTIONS = ("accuracy", "ece")


def curve_names(groups: Sequence[Group]) -> list[str]:
    """What was written after every epoch: the loss of training, and the metrics of the validation split."""
    rows = (row for group in groups for run in group.runs for row in run.history)
    return list(dict.fromkeys(["loss", *(name for row in rows for name in row.get("validation", {}))]))


def curve_title(name: str) -> str:
    """Of a panel.

    >>> curve_title("loss"), curve_title("ece")
    ('Training loss', 'Validation ECE')
    """
    if name == "loss":
        return "Training loss"
    title = METRICS[name].title if name in METRICS else name.upper()
    return f"Validation {title if title.isupper() else title.lower()}"


def curves_of(group: Group, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Epochs (e,) and values (seeds, e) of the epochs that every seed has."""
    found: list[dict[int, float]] = [
        {int(row["epoch"]): _value(row, name) for row in run.history} for run in group.runs
    ]
    shared = sorted(set.intersection(*(set(one) for one in found)))
    return np.array(shared, float), np.array([[one[epoch] for epoch in shared] for one in found])


def _value(row: dict[str, Any], name: str) -> float:
    return float(row["loss"] if name == "loss" else row.get("validation", {}).get(name, np.nan))


def learning_diagram(groups: Sequence[Group], looks: Sequence[Look], name: str) -> Figure:
    """Draw one panel: a line a group, and its lowest and highest seed as a band."""
    from matplotlib.ticker import MaxNLocator

    figure = new_figure(4.6, 3.0)
    axes = figure.add_subplot()
    for group, look in zip(groups, looks, strict=True):
        epochs, values = curves_of(group, name)
        if not np.isfinite(values).any():
            continue
        if len(values) > 1:
            axes.fill_between(
                epochs, values.min(0), values.max(0), color=look.colour, alpha=0.14, linewidth=0
            )
        axes.plot(
            epochs,
            values.mean(0),
            color=look.colour,
            linestyle=look.linestyle,
            linewidth=1.8,
            marker="o" if len(epochs) == 1 else None,
            label=group.label,
        )
    axes.set_xlabel("epoch")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.margins(x=0.01)
    plain_axes(axes, grid="y")
    if name in FRACTIONS:
        percent_axis(axes.yaxis)
    elif name == "mse":
        axes.set_yscale("log")
    return figure
