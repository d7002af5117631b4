"""Pictures of a report on runs: learning curves, reliability, spread and coverage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tailormix.metrics.classification import join
from tailormix.metrics.registry import METRICS
from tailormix.reports.curves import reliability_of_rows, spread_curve
from tailormix.reports.diagrams import spread_diagram
from tailormix.reports.reliability import draw_reliability
from tailormix.reports.run_tables import AFTER, BEFORE, spread_text
from tailormix.reports.style import INK, Picture, new_figure, page_svg, percent_axis, plain_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from tailormix.reports.curves import ReliabilityCurve
    from tailormix.reports.runs import Group
    from tailormix.reports.style import Look


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


LEVELS = np.linspace(0.01, 0.99, 50)


def reliability_pictures(group: Group) -> list[Picture]:
    """Before, and after temperature where there is an after; all seeds together, on the same scale."""
    curves = [
        pooled_reliability(group, number, stage)
        for number, stage in enumerate((BEFORE, AFTER))
        if _has(group, number)
    ]
    most = max(float((curve.count / curve.count.sum()).max()) for curve in curves)
    return [
        Picture(
            page_svg(_reliability_figure(curve, most)),
            f"Reliability diagram of {group.label}, {stage}: mean confidence "
            f"{100 * curve.mean_confidence:.1f} %, accuracy {100 * curve.mean_accuracy:.1f} %",
            stage.capitalize(),
            f"ECE {spread_text(group.spread(stage, 'ece'), 100, 2)} %",
        )
        for curve, stage in zip(curves, (BEFORE, AFTER), strict=False)
    ]


def _has(group: Group, number: int) -> bool:
    return all(len(run.rows) > number for run in group.runs)


def pooled_reliability(group: Group, number: int, stage: str) -> ReliabilityCurve:
    """All seeds together, in stage 0 or 1 of a run's rows; the ECE is the mean of the seeds."""
    rows = join([run.rows[number] for run in group.runs])
    ece = group.spread(stage, "ece").mean
    return reliability_of_rows(rows, ece=ece, seeds=len(group.runs))


def _reliability_figure(curve: ReliabilityCurve, most: float) -> Figure:
    figure = new_figure(3.4, 3.7)
    grid = figure.add_gridspec(2, 1, height_ratios=[3.4, 1])
    upper, lower = figure.add_subplot(grid[0]), figure.add_subplot(grid[1])
    draw_reliability(upper, lower, curve, most=most)
    upper.set_xticks([0, 0.25, 0.5, 0.75, 1], labels=[])
    upper.set_yticks([0, 0.25, 0.5, 0.75, 1])
    lower.set_xticks([0, 0.25, 0.5, 0.75, 1])
    return figure


def has_spread(group: Group) -> bool:
    """Whether the model predicts a standard deviation at all."""
    return all(run.spread is not None and bool((run.spread.spread > 0).any()) for run in group.runs)


def _pooled(group: Group) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Mean, standard deviation and target of all seeds, in one column each."""
    found = [run.spread for run in group.runs if run.spread is not None]
    columns = [(one.mean, one.spread, one.targets) for one in found]
    mean, std, targets = (
        torch.cat([part.reshape(-1) for part in parts]) for parts in zip(*columns, strict=True)
    )
    return mean, std, targets


def spread_picture(group: Group) -> Picture:
    """Observed against predicted error."""
    ence = group.spread(BEFORE, "ence")
    curve = spread_curve(*_pooled(group), ence=ence.mean, seeds=len(group.runs))
    return Picture(
        page_svg(spread_diagram(curve)),
        f"Observed against predicted error of {group.label}, ENCE {spread_text(ence, 100, 1)} %",
        group.label,
        f"ENCE {spread_text(ence, 100, 2)} %",
    )


def observed_coverage(group: Group) -> NDArray[np.float64]:
    """Share of targets inside the central interval of N(mean, std²), at each of LEVELS."""
    mean, std, targets = _pooled(group)
    inside = torch.special.ndtri(torch.from_numpy((1 + LEVELS) / 2))
    found = ((targets - mean).abs()[:, None] <= inside * std[:, None]).double().mean(0)
    return np.asarray(found.numpy())


def coverage_diagram(groups: Sequence[Group], looks: Sequence[Look]) -> Figure:
    """Draw how many targets lie inside the interval that should hold a given share of them."""
    figure = new_figure(4.6, 4.0)
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color=INK, linewidth=1.1, linestyle=(0, (5, 3)))
    for group, look in zip(groups, looks, strict=True):
        if has_spread(group):
            covered = observed_coverage(group)
            axes.plot(LEVELS, covered, color=look.colour, linestyle=look.linestyle, linewidth=1.8)
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="share that the interval should hold", ylabel="share it holds")
    plain_axes(axes)
    percent_axis(axes.xaxis)
    percent_axis(axes.yaxis)
    return figure
