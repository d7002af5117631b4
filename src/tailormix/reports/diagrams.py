"""Diagrams of an evaluation: risk against coverage, and spread against error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tailormix.reports.curves import reliability_of_rows, risk_of_rows, risk_of_spread, spread_curve
from tailormix.reports.reliability import before_after_diagram, interval_text, reliability_diagram
from tailormix.reports.style import (
    BLUE,
    INK,
    ORANGE,
    QUIET,
    corner_note,
    new_figure,
    percent_axis,
    plain_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tailormix.reports.curves import RiskCurve, SpreadCurve
    from tailormix.reports.evaluation import Evaluation


def risk_coverage_diagram(
    curve: RiskCurve,
    after: RiskCurve | None = None,
    *,
    labels: tuple[str, str] = ("before", "after temperature"),
) -> Figure:
    """Draw risk against coverage, the order that knows all errors, and the risk without any choice."""
    figure = new_figure(5.0, 4.2)
    axes = figure.add_subplot()
    curves = [curve] if after is None else [curve, after]
    names = ("model",) if after is None else labels
    looks = ((BLUE, "-", 2.2), (ORANGE, (0, (6, 2)), 1.8))
    for one, name, (colour, dash, width) in zip(curves, names, looks, strict=False):
        axes.plot(one.coverage, one.risk, color=colour, linestyle=dash, linewidth=width, label=name, zorder=3)
    axes.plot(
        curve.coverage, curve.best, color=QUIET, linestyle=":", linewidth=1.6, label="best order", zorder=2
    )
    axes.axhline(float(curve.risk[-1]), color=INK, linewidth=0.9, linestyle=(0, (1, 2)), label="all points")
    top = 1.3 * max(float(one.risk.max()) for one in curves)
    axes.set(
        xlim=(0, 1),
        ylim=(0, top or 1),
        xlabel="coverage: share of points kept",
        ylabel=f"risk: {curve.risk_name}",
    )
    plain_axes(axes)
    percent_axis(axes.xaxis)
    if curve.risk_name == "error rate":
        percent_axis(axes.yaxis)
    text = [f"area {name} {one.area:.4g}" for one, name in zip(curves, names, strict=True)]
    corner_note(axes, "\n".join(text), where="lower right")
    axes.legend(fontsize=8.5, frameon=False, loc="upper left", ncols=2)
    return figure


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


def diagrams(evaluation: Evaluation) -> dict[str, Figure]:
    """Return the diagrams by file name: reliability (or spread) and risk–coverage, before and after."""
    return _classification(evaluation) if evaluation.task == "classification" else _regression(evaluation)


def _classification(evaluation: Evaluation) -> dict[str, Figure]:
    stages = [one for one in (evaluation.before, evaluation.after) if one is not None]
    bins = evaluation.settings.n_bins
    pairs = zip(evaluation.rows, stages, strict=True)
    curves = [reliability_of_rows(rows, n_bins=bins, ece=stage["ece"]) for rows, stage in pairs]
    draw = before_after_diagram if len(curves) == 2 else reliability_diagram
    risks = [risk_of_rows(rows) for rows in evaluation.rows]
    return {"reliability": draw(*curves), "risk-coverage": risk_coverage_diagram(*risks)}


def _regression(evaluation: Evaluation) -> dict[str, Figure]:
    stages = [one for one in (evaluation.before, evaluation.after) if one is not None]
    curves, risks = [], []
    for view, stage in zip(evaluation.spreads, stages, strict=True):
        arrays = (view.mean, view.std, view.targets)
        curves.append(spread_curve(*arrays, n_bins=evaluation.settings.n_bins, ence=stage["ence"]))
        risks.append(risk_of_spread(*arrays))
    return {"spread": spread_diagram(*curves), "risk-coverage": risk_coverage_diagram(risks[0])}
