"""Reliability diagrams: accuracy against confidence, bin by bin, with where the samples are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tailormix.metrics.bootstrap import Interval
from tailormix.reports.style import (
    BAND,
    BLUE,
    INK,
    ORANGE,
    PALE_ORANGE,
    corner_note,
    new_figure,
    percent_axis,
    plain_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tailormix.reports.curves import ReliabilityCurve


def reliability_diagram(curve: ReliabilityCurve, *, title: str = "") -> Figure:
    """Draw accuracy per bin, its gap to the confidence, the 95 % band of a calibrated model, and the samples.

    The corner shows ECE, with its interval where the curve has one.
    """
    figure = new_figure(4.6, 6.0)
    upper, lower = _pair(figure, 1)[0]
    draw_reliability(upper, lower, curve, title=title)
    _legend(figure, (upper, lower))
    return figure


def before_after_diagram(
    before: ReliabilityCurve,
    after: ReliabilityCurve,
    *,
    titles: tuple[str, str] = ("Before", "After temperature"),
) -> Figure:
    """Draw two reliability diagrams side by side on the same axes."""
    figure = new_figure(8.8, 5.9)
    pairs = _pair(figure, 2)
    top = max(float((curve.count / curve.count.sum()).max()) for curve in (before, after))
    for (upper, lower), curve, title in zip(pairs, (before, after), titles, strict=True):
        draw_reliability(upper, lower, curve, title=title, most=top)
    for axes in pairs[1]:
        axes.set_ylabel("")
    _legend(figure, pairs[0])
    return figure


def draw_reliability(
    upper: Axes, lower: Axes, curve: ReliabilityCurve, *, title: str = "", most: float | None = None
) -> None:
    """Draw the bars into ``upper`` and the samples into ``lower``."""
    _bars(upper, curve)
    upper.set_title(title, fontsize=11, color=INK, loc="left")
    corner_note(upper, "ECE " + interval_text(curve.ece))
    _samples(lower, curve, most)


def interval_text(value: Interval | float) -> str:
    """Return ``4.2 % [3.1, 5.0]``.

    >>> interval_text(Interval(0.042, 0.031, 0.05))
    '4.2 % [3.1, 5.0]'
    """
    if not isinstance(value, Interval):
        return f"{100 * value:.1f} %"
    return f"{100 * value.value:.1f} % [{100 * value.low:.1f}, {100 * value.high:.1f}]"


def _pair(figure: Figure, columns: int) -> list[tuple[Any, Any]]:
    grid = figure.add_gridspec(2, columns, height_ratios=[4, 1.1])
    return [(figure.add_subplot(grid[0, i]), figure.add_subplot(grid[1, i])) for i in range(columns)]


def _bars(axes: Axes, curve: ReliabilityCurve) -> None:
    bins = len(curve.count)
    edges = np.linspace(0, 1, bins + 1)
    full = curve.count > 0
    middle, width = (edges[:-1] + edges[1:])[full] / 2, 1 / bins
    accuracy, confidence = curve.accuracy[full], curve.confidence[full]
    axes.bar(
        middle, accuracy, width, color=BLUE, edgecolor="white", linewidth=0.8, label="accuracy", zorder=2
    )
    axes.bar(
        middle,
        confidence - accuracy,
        width * 0.96,
        bottom=accuracy,
        facecolor=PALE_ORANGE,
        edgecolor=ORANGE,
        hatch="////",
        linewidth=0.8,
        label="gap to confidence",
        zorder=3,
    )
    low, high = curve.low[full], curve.high[full]
    axes.bar(
        middle,
        high - low,
        width * 0.34,
        bottom=low,
        color=BAND,
        edgecolor=INK,
        linewidth=0.7,
        alpha=0.9,
        label="95 % band if calibrated",
        zorder=4,
    )
    axes.plot([0, 1], [0, 1], color=INK, linewidth=1.1, linestyle=(0, (5, 3)), label="perfect", zorder=5)
    axes.set(xlim=(0, 1), ylim=(0, 1), ylabel="accuracy")
    plain_axes(axes)
    percent_axis(axes.xaxis)
    percent_axis(axes.yaxis)


def _samples(axes: Axes, curve: ReliabilityCurve, most: float | None) -> None:
    share = curve.count / curve.count.sum()
    bins = len(share)
    axes.bar(
        (np.arange(bins) + 0.5) / bins, share, 1 / bins, color="#8a8a8a", edgecolor="white", linewidth=0.8
    )
    top = 1.15 * (most if most is not None else float(share.max()))
    marks = (
        (curve.mean_accuracy, "mean accuracy", BLUE, "-"),
        (curve.mean_confidence, "mean confidence", ORANGE, "--"),
    )
    for value, label, colour, dash in marks:
        axes.axvline(value, color=colour, linestyle=dash, linewidth=2, label=label)
    axes.set(xlim=(0, 1), ylim=(0, top), xlabel="confidence", ylabel="samples")
    plain_axes(axes, grid="y")
    percent_axis(axes.xaxis)
    percent_axis(axes.yaxis)


def _legend(figure: Figure, pair: tuple[Axes, Axes]) -> None:
    found = [axes.get_legend_handles_labels() for axes in pair]
    handles = [handle for one in found for handle in one[0]]
    labels = [label for one in found for label in one[1]]
    columns = 2 if len(figure.axes) == 2 else 3
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=8.5, frameon=False)
