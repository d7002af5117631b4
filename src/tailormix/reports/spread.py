"""Regression: the error that a model predicts against the error that one observes, bin by bin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tailormix.reports.reliability import interval_text
from tailormix.reports.style import BLUE, INK, ORANGE, corner_note, new_figure, percent_axis, plain_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tailormix.reports.curves import SpreadCurve


def spread_diagram(
    curve: SpreadCurve,
    after: SpreadCurve | None = None,
    *,
    labels: tuple[str, str] = ("before", "after variance scaling"),
    unit: str = "",
) -> Figure:
    """Draw observed against predicted standard deviation with 95 % intervals, and where the samples are."""
    figure = new_figure(5.0, 5.6)
    grid = figure.add_gridspec(2, 1, height_ratios=[4, 1.1])
    upper, lower = figure.add_subplot(grid[0]), figure.add_subplot(grid[1])
    curves = [curve] if after is None else [curve, after]
    names = ("observed",) if after is None else labels
    looks = ((BLUE, "o"), (ORANGE, "s"))
    for one, name, (colour, marker) in zip(curves, names, looks, strict=False):
        _points(upper, one, name, colour, marker)
        lower.step(one.predicted, one.count / one.count.sum(), where="mid", color=colour, linewidth=1.8)
        lower.plot(one.predicted, one.count / one.count.sum(), marker, color=colour, markersize=4)
    _frame(upper, lower, curves, unit)
    lines = [f"ENCE {name} {interval_text(one.ence)}" for one, name in zip(curves, names, strict=True)]
    corner_note(upper, "\n".join(lines) if after is not None else "ENCE " + interval_text(curve.ence))
    upper.legend(fontsize=8.5, frameon=False, loc="lower right")
    return figure


def _points(axes: Axes, curve: SpreadCurve, name: str, colour: str, marker: str) -> None:
    reach = np.stack([curve.observed - curve.low, curve.high - curve.observed])
    axes.errorbar(
        curve.predicted,
        curve.observed,
        yerr=np.maximum(reach, 0),
        fmt=marker,
        color=colour,
        markersize=6,
        markeredgecolor="white",
        markeredgewidth=0.6,
        elinewidth=1.3,
        capsize=3,
        label=f"{name}, 95 % interval",
        zorder=3,
    )


def _frame(upper: Axes, lower: Axes, curves: list[SpreadCurve], unit: str) -> None:
    """Set common axes: intervals of nearly empty bins may leave the picture, points may not."""
    right = 1.08 * max(float(curve.predicted.max()) for curve in curves)
    top = 1.35 * max(max(float(curve.observed.max()), float(curve.predicted.max())) for curve in curves)
    end = max(right, top)
    upper.plot([0, end], [0, end], color=INK, linewidth=1.1, linestyle=(0, (5, 3)), label="perfect", zorder=2)
    suffix = f" ({unit})" if unit else ""
    upper.set(xlim=(0, right), ylim=(0, top), ylabel=f"observed error, RMSE{suffix}")
    lower.set(xlim=(0, right), xlabel=f"predicted standard deviation{suffix}", ylabel="samples")
    lower.set_ylim(bottom=0)
    plain_axes(upper)
    plain_axes(lower, grid="y")
    percent_axis(lower.yaxis)
