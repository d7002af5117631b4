"""How a result depends on one hyper-parameter: a dot per setting, and the mean at each value."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailormix.reports.style import BLUE, INK, ORANGE, new_figure, plain_axes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Point:
    """One setting: the hyper-parameter's value, metrics by name, and whether it ran to the end."""

    value: float
    metrics: Mapping[str, float]
    complete: bool = True


def sensitivity_diagram(
    points: Sequence[Point], key: str, metrics: Sequence[str], *, log: bool = False
) -> Figure:
    """One panel per metric; settings that were stopped early are hollow and do not count in the mean."""
    figure = new_figure(3.6 * len(metrics), 3.2)
    for number, metric in enumerate(metrics):
        axes = figure.add_subplot(1, len(metrics), number + 1)
        _draw_panel(axes, [point for point in points if metric in point.metrics], metric)
        axes.set_xlabel(key.rpartition(".")[2].replace("tau_", "τ_"))
        axes.set_ylabel(metric)
        if log:
            axes.set_xscale("log")
        plain_axes(axes)
    return figure


def _draw_panel(axes: Axes, points: Sequence[Point], metric: str) -> None:
    done = [point for point in points if point.complete]
    early = [point for point in points if not point.complete]
    axes.scatter([p.value for p in done], [p.metrics[metric] for p in done], s=18, color=BLUE, alpha=0.8)
    hollow = axes.scatter([p.value for p in early], [p.metrics[metric] for p in early], s=18, linewidths=0.8)
    hollow.set(facecolors="none", edgecolors=INK)
    means = mean_at(done, metric)
    if len(means) > 1:
        axes.plot(list(means), list(means.values()), color=ORANGE, linewidth=1.4, zorder=1)


def mean_at(points: Sequence[Point], metric: str) -> dict[float, float]:
    """The metric's mean at each value, in increasing order of the values.

    >>> mean_at([Point(2.0, {"a": 1.0}), Point(1.0, {"a": 0.0}), Point(2.0, {"a": 3.0})], "a")
    {1.0: 0.0, 2.0: 2.0}
    """
    values = sorted({point.value for point in points})
    return {v: statistics.fmean(p.metrics[metric] for p in points if p.value == v) for v in values}
