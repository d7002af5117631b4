"""Diagrams of an evaluation: reliability, risk against coverage, and predicted against observed error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tailormix.metrics.bootstrap import Interval
from tailormix.reports.curves import classification_risk, regression_risk, reliability_from, spread_curve
from tailormix.reports.style import (
    BAND,
    BLUE,
    INK,
    ORANGE,
    PALE_ORANGE,
    QUIET,
    corner_note,
    new_figure,
    percent_axis,
    plain_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tailormix.reports.curves import ReliabilityCurve, RiskCurve, SpreadCurve
    from tailormix.reports.evaluation import Evaluation

DIAGONAL: dict[str, Any] = {"color": INK, "linewidth": 1.1, "linestyle": (0, (5, 3))}


def evaluation_diagrams(evaluation: Evaluation) -> dict[str, Figure]:
    """The diagrams of an evaluation by file name: reliability (or spread) and risk–coverage."""
    stages = [one for one in (evaluation.before, evaluation.after) if one is not None]
    bins = evaluation.settings.n_bins
    if evaluation.task == "classification":
        pairs = zip(evaluation.statistics, stages, strict=True)
        curves = [reliability_from(one, n_bins=bins, ece=stage["ece"]) for one, stage in pairs]
        draw = before_after_diagram if len(curves) == 2 else reliability_diagram
        risks = [classification_risk(one) for one in evaluation.statistics]
        return {"reliability": draw(*curves), "risk-coverage": risk_coverage_diagram(*risks)}
    spreads = [
        spread_curve(view.mean, view.std, view.targets, n_bins=bins, ence=stage["ence"])
        for view, stage in zip(evaluation.predictions, stages, strict=True)
    ]
    first = evaluation.predictions[0]
    risk = regression_risk(first.mean, first.std, first.targets)
    return {"spread": spread_diagram(*spreads), "risk-coverage": risk_coverage_diagram(risk)}


def reliability_diagram(curve: ReliabilityCurve, *, title: str = "") -> Figure:
    """Draw accuracy per bin, its gap to the confidence, the 95 % band of a calibrated model, and the samples.

    The corner shows ECE, with its interval where the curve has one.
    """
    figure = new_figure(4.6, 6.0)
    upper, lower = two_panels(figure)[0]
    draw_reliability(upper, lower, curve, title=title)
    _reliability_legend(figure, (upper, lower))
    return figure


def before_after_diagram(
    before: ReliabilityCurve,
    after: ReliabilityCurve,
    *,
    titles: tuple[str, str] = ("Before", "After temperature"),
) -> Figure:
    """Draw two reliability diagrams side by side on the same axes."""
    figure = new_figure(8.8, 5.9)
    pairs = two_panels(figure, 2)
    top = max(float((curve.count / curve.count.sum()).max()) for curve in (before, after))
    for (upper, lower), curve, title in zip(pairs, (before, after), titles, strict=True):
        draw_reliability(upper, lower, curve, title=title, most=top)
    for axes in pairs[1]:
        axes.set_ylabel("")
    _reliability_legend(figure, pairs[0])
    return figure


def draw_reliability(
    upper: Axes, lower: Axes, curve: ReliabilityCurve, *, title: str = "", most: float | None = None
) -> None:
    """Draw accuracy per bin into ``upper`` and the share of samples per bin into ``lower``.

    ``most``: the largest share, where several diagrams are to have the same scale.
    """
    _draw_accuracy(upper, curve)
    upper.set_title(title, fontsize=11, color=INK, loc="left")
    corner_note(upper, "ECE " + interval_text(curve.ece))
    _draw_samples(lower, curve, most)


def risk_coverage_diagram(
    curve: RiskCurve,
    after: RiskCurve | None = None,
    *,
    labels: tuple[str, str] = ("before", "after temperature"),
) -> Figure:
    """Draw risk against coverage, the best possible order, and the risk of all points."""
    figure = new_figure(5.0, 4.2)
    axes = figure.add_subplot()
    curves = [curve] if after is None else [curve, after]
    names = ("model",) if after is None else labels
    styles = ((BLUE, "-", 2.2), (ORANGE, (0, (6, 2)), 1.8))
    for one, name, (colour, dash, width) in zip(curves, names, styles, strict=False):
        axes.plot(one.coverage, one.risk, color=colour, linestyle=dash, linewidth=width, label=name, zorder=3)
    axes.plot(
        curve.coverage, curve.best, color=QUIET, linestyle=":", linewidth=1.6, label="best order", zorder=2
    )
    axes.axhline(float(curve.risk[-1]), color=INK, linewidth=0.9, linestyle=(0, (1, 2)), label="all points")
    top = 1.3 * max(float(one.risk.max()) for one in curves)
    axes.set(xlim=(0, 1), ylim=(0, top or 1))
    axes.set(xlabel="coverage: share of points kept", ylabel=f"risk: {curve.risk_name}")
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
    upper, lower = two_panels(figure)[0]
    curves = [curve] if after is None else [curve, after]
    names = ("observed",) if after is None else labels
    for one, name, colour, marker in zip(curves, names, (BLUE, ORANGE), "os", strict=False):
        reach = np.stack([one.observed - one.low, one.high - one.observed])
        upper.errorbar(
            one.predicted,
            one.observed,
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
        share = one.count / one.count.sum()
        lower.step(one.predicted, share, where="mid", color=colour, linewidth=1.8)
        lower.plot(one.predicted, share, marker, color=colour, markersize=4)
    _frame_spread(upper, lower, curves, unit)
    lines = [f"ENCE {name} {interval_text(one.ence)}" for one, name in zip(curves, names, strict=True)]
    corner_note(upper, "\n".join(lines) if after is not None else "ENCE " + interval_text(curve.ence))
    upper.legend(fontsize=8.5, frameon=False, loc="lower right")
    return figure


def two_panels(figure: Figure, columns: int = 1, ratio: float = 4 / 1.1) -> list[tuple[Axes, Axes]]:
    """A high panel above a low one, in each column."""
    grid = figure.add_gridspec(2, columns, height_ratios=[ratio, 1])
    return [(figure.add_subplot(grid[0, i]), figure.add_subplot(grid[1, i])) for i in range(columns)]


def interval_text(value: Interval | float) -> str:
    """A fraction in percent, with its interval where there is one.

    >>> interval_text(Interval(0.042, 0.031, 0.05))
    '4.2 % [3.1, 5.0]'
    """
    if not isinstance(value, Interval):
        return f"{100 * value:.1f} %"
    return f"{100 * value.value:.1f} % [{100 * value.low:.1f}, {100 * value.high:.1f}]"


def _draw_accuracy(axes: Axes, curve: ReliabilityCurve) -> None:
    bins = len(curve.count)
    full = curve.count > 0
    middle, width = ((np.arange(bins) + 0.5) / bins)[full], 1 / bins
    accuracy, confidence = curve.accuracy[full], curve.confidence[full]
    low, high = curve.low[full], curve.high[full]
    bars = axes.bar(middle, accuracy, width, label="accuracy", zorder=2)
    gaps = axes.bar(
        middle, confidence - accuracy, 0.96 * width, accuracy, label="gap to confidence", zorder=3
    )
    bands = axes.bar(middle, high - low, 0.34 * width, low, label="95 % band if calibrated", zorder=4)
    for bar, gap, band in zip(bars, gaps, bands, strict=True):
        bar.set(facecolor=BLUE, edgecolor="white", linewidth=0.8)
        gap.set(facecolor=PALE_ORANGE, edgecolor=ORANGE, linewidth=0.8, hatch="////")
        band.set(facecolor=BAND, edgecolor=INK, linewidth=0.7, alpha=0.9)
    axes.plot([0, 1], [0, 1], label="perfect", zorder=5, **DIAGONAL)
    axes.set(xlim=(0, 1), ylim=(0, 1), ylabel="accuracy")
    plain_axes(axes)
    percent_axis(axes.xaxis)
    percent_axis(axes.yaxis)


def _draw_samples(axes: Axes, curve: ReliabilityCurve, most: float | None) -> None:
    share = curve.count / curve.count.sum()
    bins = len(share)
    middle = (np.arange(bins) + 0.5) / bins
    axes.bar(middle, share, 1 / bins, color="#8a8a8a", edgecolor="white", linewidth=0.8)
    for value, label, colour, dash in (
        (curve.mean_accuracy, "mean accuracy", BLUE, "-"),
        (curve.mean_confidence, "mean confidence", ORANGE, "--"),
    ):
        axes.axvline(value, color=colour, linestyle=dash, linewidth=2, label=label)
    top = 1.15 * (float(share.max()) if most is None else most)
    axes.set(xlim=(0, 1), ylim=(0, top), xlabel="confidence", ylabel="samples")
    plain_axes(axes, grid="y")
    percent_axis(axes.xaxis)
    percent_axis(axes.yaxis)


def _reliability_legend(figure: Figure, pair: tuple[Axes, Axes]) -> None:
    found = [axes.get_legend_handles_labels() for axes in pair]
    handles, labels = ([*found[0][i], *found[1][i]] for i in (0, 1))
    columns = 2 if len(figure.axes) == 2 else 3
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=8.5, frameon=False)


def _frame_spread(upper: Axes, lower: Axes, curves: list[SpreadCurve], unit: str) -> None:
    """Set common axes: intervals of nearly empty bins may leave the panel, points may not."""
    right = 1.08 * max(float(curve.predicted.max()) for curve in curves)
    top = 1.35 * max(max(float(curve.observed.max()), float(curve.predicted.max())) for curve in curves)
    end = max(right, top)
    upper.plot([0, end], [0, end], label="perfect", zorder=2, **DIAGONAL)
    suffix = f" ({unit})" if unit else ""
    upper.set(xlim=(0, right), ylim=(0, top), ylabel=f"observed error, RMSE{suffix}")
    lower.set(xlim=(0, right), xlabel=f"predicted standard deviation{suffix}", ylabel="samples")
    lower.set_ylim(bottom=0)
    plain_axes(upper)
    plain_axes(lower, grid="y")
    percent_axis(lower.yaxis)
