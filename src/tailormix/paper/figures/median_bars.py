"""Mixing near or far: plain training, Mixup, and Mixup of pairs below or above the median distance."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from tailormix import checks
from tailormix.paper.drawing import FigureResult, settled, write_figure

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
    "stage": "before",
}
STAGES = ("before", "after temperature")
#: shown in percent
SHARES = ("accuracy", "ece", "aece", "classwise_ece", "debiased_ece", "mce")
#: grey for plain training, then Okabe and Ito's colours as the paper has them: near orange, far green
COLOURS = ("#8a8a8a", "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9")


def make(settings: dict[str, Any], runs: Path, out: Path) -> FigureResult:
    """Draw mean ± standard deviation over seeds, and each seed as a dot.

    Settings: ``blocks`` (rows of panels: ``title`` and ``where`` of the runs), ``bars`` (``title`` and
    ``method``, laid into each block's ``where``), ``metrics`` (on the test split), ``stage``.
    """
    chosen = settled(settings, DEFAULTS)
    checks.known("stage", chosen["stage"], STAGES)
    found = {block["title"]: _block(block["where"], runs, chosen) for block in chosen["blocks"]}
    caption = (
        f"Test metrics ({chosen['stage']}), mean and standard deviation over seeds, when pairs nearer or "
        "farther than a quantile of the distances in the batch are mixed."
    )
    facts = {"caption": caption, "settings": chosen, "blocks": found}
    return write_figure(draw_blocks(found, chosen["metrics"]), "median-bars", out, facts)


def _block(where: dict[str, Any], runs: Path, chosen: dict[str, Any]) -> dict[str, dict[str, Any]]:
    from tailormix.paper.drawing import choose_runs

    found = {}
    for bar in chosen["bars"]:
        seeds = choose_runs(runs, {**where, "method": bar["method"]})
        measured = [run.result["test"][chosen["stage"]] for run in seeds]
        values = {metric: _values(metric, measured) for metric in chosen["metrics"]}
        found[bar["title"]] = {metric: spread(each) for metric, each in values.items()}
    return found


def _values(metric: str, measured: Sequence[dict[str, float]]) -> list[float]:
    return [float(one[checks.known("metric", metric, one)]) for one in measured]


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Mean, standard deviation (of a sample; none for one value), number and values.

    >>> spread([1.0, 3.0])
    {'mean': 2.0, 'std': 1.414..., 'n': 2, 'values': [1.0, 3.0]}
    """
    std = statistics.stdev(values) if len(values) > 1 else None
    return {"mean": statistics.fmean(values), "std": std, "n": len(values), "values": list(values)}


def draw_blocks(blocks: dict[str, dict[str, dict[str, Any]]], metrics: Sequence[str]) -> Figure:
    """One row of panels a block, one panel a metric, one bar a method."""
    from tailormix.reports.style import new_figure

    figure = new_figure(2.35 * len(metrics) + 0.3, 2.9 * len(blocks) + 0.2)
    rows = figure.subfigures(len(blocks), 1, squeeze=False)[:, 0]
    for row, (title, bars) in zip(rows, blocks.items(), strict=True):
        row.suptitle(title, fontsize=11, x=0.01, ha="left")
        for axes, metric in zip(row.subplots(1, len(metrics), squeeze=False)[0], metrics, strict=True):
            _bars(axes, metric, {name: values[metric] for name, values in bars.items()})
    return figure


def _bars(axes: Axes, metric: str, bars: dict[str, dict[str, Any]]) -> None:
    from tailormix.metrics.registry import METRICS
    from tailormix.reports.style import INK, plain_axes

    known = METRICS[checks.known("metric", metric, METRICS)]
    factor = 100 if metric in SHARES else 1
    means = [factor * bar["mean"] for bar in bars.values()]
    colours = [COLOURS[number % len(COLOURS)] for number in range(len(bars))]
    axes.bar(range(len(bars)), means, 0.72, color=colours, edgecolor="white", linewidth=0.8, zorder=2)
    for place, bar in enumerate(bars.values()):
        if bar["std"] is not None:
            spread_of = factor * bar["std"]
            axes.errorbar(place, means[place], spread_of, color=INK, capsize=3, linewidth=1.1, zorder=4)
        dots = [factor * value for value in bar["values"]]
        axes.scatter([place] * len(dots), dots, s=11, color="white", edgecolors=INK, linewidths=0.7, zorder=5)
    axes.set_xticks(range(len(bars)), list(bars), rotation=35, ha="right", rotation_mode="anchor")
    better = "↑" if metric == "accuracy" else "↓"
    axes.set_title(f"{known.title}{' (%)' if metric in SHARES else ''} {better}", fontsize=10, color=INK)
    _zoom(axes, [factor * value for bar in bars.values() for value in bar["values"]])
    plain_axes(axes, grid="y")


def _zoom(axes: Axes, values: Sequence[float]) -> None:
    """Begin above 0, and say so, where values lie close together: bars from 0 would hide what differs."""
    from tailormix.reports.style import QUIET

    low, high = min(values), max(values)
    room = 0.5 * (high - low) or 0.1 * abs(high) or 1.0
    begin = max(low - room, 0.0) if low > 3 * (high - low) else 0.0
    axes.set_ylim(begin, high + room / 2)
    if begin:
        axes.text(0.03, 0.99, "axis cut", transform=axes.transAxes, fontsize=7, color=QUIET, va="top")
