"""Diagrams of an evaluation: reliability, risk against coverage, and predicted against observed error."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from tailormix.metrics.bootstrap import Interval
from tailormix.reports.curves import classification_risk, regression_risk, reliability_from, spread_curve
from tailormix.reports.numbers import interval_text
from tailormix.reports.style import (
    BAND,
    BLUE,
    INK,
    ORANGE,
    QUIET,
    new_figure,
    percent_axis,
    plain_axes,
)
from tailormix.reports.verdict import verdict_on_classes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tailormix.reports.curves import ReliabilityCurve, RiskCurve, SpreadCurve
    from tailormix.reports.evaluation import Evaluation

DIAGONAL: dict[str, Any] = {"color": QUIET, "linewidth": 1.0, "linestyle": (0, (5, 3))}
LEGEND: dict[str, Any] = {"fontsize": 8.5, "frameon": False, "ncols": 2, "labelcolor": INK}
THINNEST = 0.3  # of a bin's width: a gap of few samples is still seen


def evaluation_diagrams(evaluation: Evaluation) -> dict[str, Figure]:
    """The diagrams of an evaluation by file name: reliability (or spread) and risk–coverage."""
    stages = [one for one in (evaluation.before, evaluation.after) if one is not None]
    bins = evaluation.settings.n_bins
    if evaluation.task == "classification":
        pairs = zip(evaluation.statistics, stages, strict=True)
        positive = evaluation.settings.binary == "positive"
        curves = [
            reliability_from(one, n_bins=bins, ece=stage["ece"], positive=positive) for one, stage in pairs
        ]
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


def reliability_diagram(curve: ReliabilityCurve, *, title: str | None = None) -> Figure:
    """Draw the accuracy of each bin with its interval, its gap to the confidence, and the samples below.

    The title is the verdict unless another one is given. ECE stands beside it, with its interval where the
    curve has one.
    """
    figure = new_figure(4.8, 6.2)
    upper, lower = two_panels(figure)[0]
    draw_reliability(upper, lower, curve)
    _reliability_titles(upper, curve, str(verdict_on_classes(curve)) if title is None else title)
    _reliability_legend(figure, upper, columns=2)
    return figure


def before_after_diagram(
    before: ReliabilityCurve,
    after: ReliabilityCurve,
    *,
    titles: tuple[str, str] = ("Before", "After temperature scaling"),
) -> Figure:
    """Draw two reliability diagrams side by side on the same axes, each with its verdict."""
    figure = new_figure(9.2, 6.0)
    pairs = two_panels(figure, 2)
    top = max(float((curve.count / curve.count.sum()).max()) for curve in (before, after))
    for (upper, lower), curve, title in zip(pairs, (before, after), titles, strict=True):
        draw_reliability(upper, lower, curve, most=top)
        _reliability_titles(upper, curve, f"{title}: {verdict_on_classes(curve).text}")
    for axes in pairs[1]:
        axes.set_ylabel("")
    _reliability_legend(figure, pairs[0][0], columns=4)
    return figure


def draw_reliability(upper: Axes, lower: Axes, curve: ReliabilityCurve, *, most: float | None = None) -> None:
    """Draw accuracy per bin into ``upper`` and the share of samples per bin into ``lower``.

    Three layers: the band of a calibrated model, the gap between confidence and accuracy in two colours, and
    the accuracy as a mark with its interval. The width of a gap is its bin's share of the samples, so that
    its area is what the bin adds to the ECE. ``most``: the largest share, where several diagrams are to have
    the same scale.
    """
    _draw_bins(upper, curve)
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
        label = f"{name}, area {one.area:.3g}"
        axes.plot(
            one.coverage, one.risk, color=colour, linestyle=dash, linewidth=width, label=label, zorder=3
        )
    axes.plot(
        curve.coverage, curve.best, color=QUIET, linestyle=":", linewidth=1.6, label="best order", zorder=2
    )
    axes.axhline(float(curve.risk[-1]), color=INK, linewidth=0.9, linestyle=(0, (1, 2)), label="all points")
    top = 1.08 * max(float(one.risk.max()) for one in curves)
    axes.set(xlim=(0, 1), ylim=(0, top or 1))
    axes.set(xlabel="coverage: share of points kept", ylabel=f"risk: {curve.risk_name}")
    plain_axes(axes)
    percent_axis(axes.xaxis)
    if curve.risk_name == "error rate":
        percent_axis(axes.yaxis)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", **LEGEND)
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
    lines = [
        f"ENCE {percent_text(one.ence)}" if after is None else f"ENCE {name} {percent_text(one.ence)}"
        for one, name in zip(curves, names, strict=True)
    ]
    upper.set_title("\n".join(lines), fontsize=9.5, color=INK, loc="left")
    figure.legend(*upper.get_legend_handles_labels(), loc="outside lower center", **LEGEND)
    return figure


def two_panels(figure: Figure, columns: int = 1, ratio: float = 4 / 1.1) -> list[tuple[Axes, Axes]]:
    """A high panel above a low one, in each column."""
    grid = figure.add_gridspec(2, columns, height_ratios=[ratio, 1])
    return [(figure.add_subplot(grid[0, i]), figure.add_subplot(grid[1, i])) for i in range(columns)]


def percent_text(value: Interval | float) -> str:
    """A fraction in percent, with its interval where there is one.

    >>> percent_text(Interval(0.042, 0.031, 0.05)), percent_text(0.042)
    ('4.2 % [3.1, 5.0]', '4.2 %')
    """
    return interval_text(value, percent=True) if isinstance(value, Interval) else f"{100 * value:.1f} %"


def _draw_bins(axes: Axes, curve: ReliabilityCurve) -> None:
    full = curve.count > 0
    width = 1 / len(full)
    middle = ((np.arange(len(full)) + 0.5) * width)[full]
    count, accuracy, confidence = curve.count[full], curve.accuracy[full], curve.confidence[full]
    low, high = curve.band_low[full], curve.band_high[full]
    axes.bar(middle, high - low, width, low, color=BAND, label="95 % band if calibrated", zorder=1)
    axes.plot([0, 1], [0, 1], zorder=2, **DIAGONAL)
    sizes = width * np.maximum(THINNEST, 0.94 * count / count.max())
    names = ("too high", "too low") if curve.positive else ("too sure", "too modest")
    for name, colour, chosen in zip(
        names, (ORANGE, BLUE), (accuracy < confidence, accuracy >= confidence), strict=True
    ):
        gap = (accuracy - confidence)[chosen]
        axes.bar(middle[chosen], gap, sizes[chosen], confidence[chosen], color=colour, label=name, zorder=3)
    reach = np.maximum([accuracy - curve.low[full], curve.high[full] - accuracy], 0)
    mark: dict[str, Any] = {
        "color": INK,
        "markeredgecolor": "white",
        "markeredgewidth": 0.8,
        "markersize": 5,
    }
    name = "how often class 1 came" if curve.positive else "accuracy"
    axes.errorbar(middle, accuracy, reach, fmt="o", elinewidth=1, zorder=4, clip_on=False, **mark).set_label(
        f"{name}, 95 % interval"
    )
    axes.set(xlim=(0, 1), ylim=(0, 1), ylabel=name)
    plain_axes(axes)
    percent_axis(axes.xaxis)
    percent_axis(axes.yaxis)


def _draw_samples(axes: Axes, curve: ReliabilityCurve, most: float | None) -> None:
    share = curve.count / curve.count.sum()
    bins = len(share)
    axes.bar((np.arange(bins) + 0.5) / bins, share, 0.94 / bins, color=QUIET)
    top = 1.15 * (float(share.max()) if most is None else most)
    name = "probability of class 1" if curve.positive else "confidence"
    axes.set(xlim=(0, 1), ylim=(0, top), xlabel=name, ylabel="samples")
    plain_axes(axes, grid="y")
    percent_axis(axes.xaxis)
    percent_axis(axes.yaxis)


def _reliability_titles(axes: Axes, curve: ReliabilityCurve, title: str) -> None:
    """The verdict above the diagram, where it covers nothing, and ECE under it."""
    lines = "\n".join(textwrap.wrap(title, 60))
    axes.set_title(f"{lines}\nECE {percent_text(curve.ece)}", fontsize=9.5, color=INK, loc="left")


def _reliability_legend(figure: Figure, axes: Axes, columns: int) -> None:
    """All parts in the order in which they are read, from the mark to the band."""
    handles, labels = axes.get_legend_handles_labels()
    order = sorted(
        range(len(labels)), key=lambda k: (labels[k].startswith("95 %"), "interval" not in labels[k])
    )
    chosen = [handles[k] for k in order], [labels[k] for k in order]
    figure.legend(*chosen, loc="outside lower center", **LEGEND | {"ncols": columns})


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
