"""Mixing near or far: plain training, Mixup, and Mixup of pairs below or above the median distance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailormix import checks
from tailormix.metrics.registry import METRICS
from tailormix.paper.drawing import FigureResult, figure_settings, find_seeds, write_figure
from tailormix.reports.numbers import MeanStd
from tailormix.reports.style import INK, QUIET, new_figure, plain_axes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


DEFAULTS: dict[str, Any] = {
    "blocks": [
        {
            "title": "CIFAR-10, ResNet-8",
            "where": {"data": {"name": "cifar10"}, "model": {"name": "resnet8"}},
        }
    ],
    "bars": [
        {"title": "ERM", "method": {"name": "erm"}},
        {"title": "Mixup", "method": {"name": "mixup"}},
        {"title": "Lower 0.5", "method": {"name": "quantile-mixup", "side": "lower"}},
        {"title": "Higher 0.5", "method": {"name": "quantile-mixup", "side": "higher"}},
    ],
    "metrics": ["accuracy", "ece", "brier", "nll"],
}
#: shown in percent
FRACTIONS = ("accuracy", "ece", "aece", "classwise_ece", "debiased_ece", "mce")
#: grey for plain training, then Okabe and Ito's colours as the paper has them: near orange, far green
COLOURS = ("#8a8a8a", "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9")


def make(settings: dict[str, Any], runs: Path, out: Path) -> FigureResult:
    """Draw mean ± standard deviation over seeds, and each seed as a dot.

    Settings: ``blocks`` (rows of panels: ``title`` and ``where`` of the runs), ``bars`` (``title`` and
    ``method``, laid into each block's ``where``), ``metrics`` (on the test split, before calibration).
    """
    chosen = figure_settings(settings, DEFAULTS)
    found: dict[str, dict[str, Any]] = {}
    for block in chosen["blocks"]:
        bars = found[block["title"]] = {}
        for bar in chosen["bars"]:
            seeds = find_seeds(runs, {**block["where"], "method": bar["method"]})
            tested = [run.result["test"]["before"] for run in seeds]
            bars[bar["title"]] = {metric: _over_seeds(metric, tested) for metric in chosen["metrics"]}
    caption = (
        "Test metrics (before), mean and standard deviation over seeds, when pairs nearer or "
        "farther than a quantile of the distances in the batch are mixed."
    )
    facts = {"caption": caption, "settings": chosen, "blocks": found}
    return write_figure(_draw(found, chosen["metrics"]), "median-bars", out, facts)


def _over_seeds(metric: str, tested: Sequence[dict[str, float]]) -> dict[str, Any]:
    """Mean, standard deviation, number and values of a metric."""
    values = [float(one[checks.known("metric", metric, one)]) for one in tested]
    return {**MeanStd.of(values).as_dict(), "values": values}


def _draw(blocks: dict[str, dict[str, dict[str, Any]]], metrics: Sequence[str]) -> Figure:
    """One row of panels per block, one panel per metric, one bar per method."""
    figure = new_figure(2.35 * len(metrics) + 0.3, 2.9 * len(blocks) + 0.2)
    rows = figure.subfigures(len(blocks), 1, squeeze=False)[:, 0]
    for row, (title, bars) in zip(rows, blocks.items(), strict=True):
        row.suptitle(title, fontsize=11, x=0.01, ha="left")
        for axes, metric in zip(row.subplots(1, len(metrics), squeeze=False)[0], metrics, strict=True):
            _draw_bars(axes, metric, {name: values[metric] for name, values in bars.items()})
    return figure


def _draw_bars(axes: Axes, metric: str, bars: dict[str, dict[str, Any]]) -> None:
    title = METRICS[checks.known("metric", metric, METRICS)].title
    factor = 100 if metric in FRACTIONS else 1
    means = [factor * bar["mean"] for bar in bars.values()]
    colours = [COLOURS[number % len(COLOURS)] for number in range(len(bars))]
    axes.bar(range(len(bars)), means, 0.72, color=colours, edgecolor="white", linewidth=0.8, zorder=2)
    for place, bar in enumerate(bars.values()):
        if bar["std"] is not None:
            std = factor * bar["std"]
            axes.errorbar(place, means[place], std, color=INK, capsize=3, linewidth=1.1, zorder=4)
        dots = [factor * value for value in bar["values"]]
        axes.scatter([place] * len(dots), dots, s=11, color="white", edgecolors=INK, linewidths=0.7, zorder=5)
    axes.set_xticks(range(len(bars)), list(bars), rotation=35, ha="right", rotation_mode="anchor")
    better = "↑" if metric == "accuracy" else "↓"
    axes.set_title(f"{title}{' (%)' if metric in FRACTIONS else ''} {better}", fontsize=10, color=INK)
    _zoom(axes, [factor * value for bar in bars.values() for value in bar["values"]])
    plain_axes(axes, grid="y")


def _zoom(axes: Axes, values: Sequence[float]) -> None:
    """Begin above 0, and say so, where values lie close together: bars from 0 would hide what differs."""
    low, high = min(values), max(values)
    room = 0.5 * (high - low) or 0.1 * abs(high) or 1.0
    begin = max(low - room, 0.0) if low > 3 * (high - low) else 0.0
    axes.set_ylim(begin, high + room / 2)
    if begin:
        axes.text(0.03, 0.99, "axis cut", transform=axes.transAxes, fontsize=7, color=QUIET, va="top")
