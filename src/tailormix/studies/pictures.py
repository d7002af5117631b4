"""Pictures of studies: differences from plain training with intervals, and mean ranks over data sets."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tailormix.reports.style import BAND, COLOURS, INK, QUIET, new_figure, plain_axes
from tailormix.studies.study import matches
from tailormix.studies.summary import (
    HIGHER,
    RANKED,
    Values,
    comparable,
    compares,
    coverage,
    over_data_sets,
    ranked,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tailormix.studies.study import Study
    from tailormix.studies.summary import Effect, Ranking

    Rows = Sequence[Mapping[str, str]]

#: panels of the picture of differences: title, metric of a row, metric of plain training, scale
PANELS = (
    ("ECE,\nnothing calibrated", "ece", "ece", 100.0),
    ("NLL,\nboth with temperature", "ts_nll", "ts_nll", 1.0),
    ("Accuracy on\ncorrupted images", "corrupted_ts_accuracy", "corrupted_ts_accuracy", 100.0),
    ("ECE, corrupted,\nboth with temperature", "corrupted_ts_ece", "corrupted_ts_ece", 100.0),
    ("AUROC of unknown inputs,\nboth with temperature", "unknown_ts_auroc", "unknown_ts_auroc", 100.0),
    ("RMSE, %", "rmse", "rmse", 100.0),
    ("NLL, both scaled", "vs_gaussian_nll", "vs_gaussian_nll", 1.0),
)


#: settings of the overview: title, study, and patterns of its data sets
SETTINGS = (
    ("Fashion-MNIST from scratch", "scratch", "fashion-mnist"),
    ("Fashion-MNIST from scratch, tuned", "tuned", "fashion-mnist"),
    ("CIFAR-10 from scratch", "scratch", "cifar10"),
    ("CIFAR-10 from scratch, tuned", "tuned", "cifar10"),
    ("Texts, 10 per class", "text", "*10shot"),
    ("Texts, all", "text", "banking77,clinc150"),
    ("Fine-tuned texts", "finetuned", "banking*"),
    ("Fine-tuned images", "finetuned", "tiny*"),
    ("Image features, 500", "images", "*-500"),
    ("Image features, 5000", "images", "*-5000,tiny*"),
    ("Tables", "tables", "*"),
)
#: methods of the overview: title, their rows (from scratch with the settings of the paper), colour and marker
METHODS = (
    ("Mixup", ("mixup", "mixup-0.2"), COLOURS[0], "o"),
    ("RegMixup", ("regmixup",), COLOURS[1], "o"),
    ("SK Mixup", ("sk-mixup", "sk-mixup-0.25"), COLOURS[2], "o"),
    ("SK RegMixup", ("sk-regmixup",), COLOURS[3], "o"),
    ("SK Mixup, automatic strength", ("sk-mixup-auto",), COLOURS[4], "o"),
    ("4 plain networks", ("erm-ensemble",), COLOURS[5], "o"),
    ("Plain training + jitter", ("erm-jitter",), INK, "s"),
    ("RegMixup + jitter", ("regmixup-jitter",), COLOURS[1], "s"),
    ("SK RegMixup + jitter", ("sk-regmixup-jitter",), COLOURS[3], "s"),
)
#: panels of the overview: title, the metrics of which a setting has one, and a scale; to the left is better
OVERVIEW = (
    ("ECE, points,\nnothing calibrated", ("ece",), 100.0),
    ("NLL,\nboth with temperature", ("ts_nll",), 1.0),
    ("Errors under shift,\npoints", ("corrupted_ts_accuracy", "covariate_ts_accuracy"), -100.0),
    ("ECE under shift, points,\nboth with temperature", ("corrupted_ts_ece", "covariate_ts_ece"), 100.0),
)


def settings_of(found: Mapping[str, Rows]) -> list[tuple[str, Rows]]:
    """The settings of the overview that have results, by title."""
    return [
        (title, rows)
        for title, study, patterns in SETTINGS
        if (rows := [row for row in found.get(study, ()) if matches(row["data"], patterns)])
    ]


def overview(found: Mapping[str, Rows]) -> Figure:
    """Where mixing helps: differences from plain training by setting and method, of several studies.

    Methods that have not been run on all data sets of a setting are left out.
    """
    from matplotlib.lines import Line2D

    settings = settings_of(found)
    figure = new_figure(9.5, 1.3 + 0.66 * len(settings))
    axes = figure.subplots(1, len(OVERVIEW), sharey=True)
    drawn: dict[str, Line2D] = {}
    for one, (title, metrics, scale) in zip(axes, OVERVIEW, strict=True):
        for place, (_, rows) in enumerate(settings):
            metric = next((name for name in metrics if any(row.get(name) for row in rows)), None)
            if metric is None:
                continue
            values = Values(rows, metric)
            there = {row["row"] for row in rows}
            methods = [each for each in METHODS if there.intersection(each[1])]
            for number, (method, names, colour, marker) in enumerate(methods):
                effects = (over_data_sets(values, name, values, "erm") for name in names)
                effect = next((effect for effect in effects if effect.n == len(values.data_sets)), None)
                if effect is not None:
                    y = place + 0.1 * (number - (len(methods) - 1) / 2)
                    _mark(one, effect, y, scale, colour, marker)
                    drawn[method] = Line2D([], [], color=colour, marker=marker, markersize=4.5)
        for place in range(0, len(settings), 2):
            one.axhspan(place - 0.5, place + 0.5, color=BAND, alpha=0.3, linewidth=0, zorder=0)
        one.axvline(0, color=INK, linewidth=0.8)
        one.set_title(title, fontsize=9, color=INK)
        one.set_xlabel("← better", loc="left")
        one.locator_params(axis="x", nbins=6, steps=[1, 2, 5, 10])
        plain_axes(one, grid="x")
    axes[0].set_yticks(range(len(settings)), [title for title, _ in settings])
    axes[0].set_ylim(len(settings) - 0.5, -0.5)
    figure.legend(
        list(drawn.values()),
        list(drawn),
        loc="outside lower center",
        ncols=math.ceil(len(drawn) / 2),
        fontsize=8,
        frameon=False,
    )
    return figure


def _mark(axes: Axes, effect: Effect, y: float, scale: float, colour: str, marker: str) -> None:
    """A mean with its interval; hollow where that holds 0."""
    if not math.isnan(effect.low):
        axes.plot([scale * effect.low, scale * effect.high], [y, y], color=colour, linewidth=1.4)
    face = colour if effect.decided else "white"
    axes.plot(scale * effect.mean, y, marker, color=colour, markerfacecolor=face, markersize=4.5)


def study_pictures(study: Study, rows: Rows) -> dict[str, Figure]:
    """All pictures of a study's page, by file name; none where there is nothing to compare."""
    found = {f"{study.name}.png": differences(study, rows)} if compares(study, rows) else {}
    for metric in RANKED:
        if (ranks := ranked(study, rows, metric)) is not None:
            found[f"{study.name}-ranks.png"] = rank_diagram(study, ranks)
    return found


def differences(study: Study, rows: Rows) -> Figure:
    """One panel per metric, one line per row: the mean paired difference from plain training, and 95 %."""
    panels = [panel for panel in PANELS if any(row.get(panel[1]) for row in rows)]
    names = [
        name for name in study.rows if name != study.baseline and any(row["row"] == name for row in rows)
    ]
    figure = new_figure(2.4 + 1.9 * len(panels), 0.9 + 0.27 * len(names))
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for one, (title, ours, theirs, scale) in zip(axes, panels, strict=True):
        _forest(one, study, rows, names, ours, theirs, scale)
        one.set_title(title, fontsize=9, color=INK)
    values = Values(rows, panels[0][1])
    axes[0].set_yticks(range(len(names)), [study.rows[name].title + coverage(values, name) for name in names])
    axes[0].set_ylim(len(names) - 0.5, -0.5)
    figure.supxlabel(
        f"difference from {study.rows[study.baseline].title.lower()} (points of 100; NLL as it is)",
        fontsize=8,
        color=QUIET,
    )
    return figure


def _forest(
    axes: Axes, study: Study, rows: Rows, names: Sequence[str], ours: str, theirs: str, scale: float
) -> None:
    mine, other = comparable(rows, ours), comparable(rows, theirs)
    better = 1 if ours.endswith(HIGHER) else -1
    for place, name in enumerate(names):
        effect = over_data_sets(mine, name, other, study.baseline)
        if not effect.n:
            continue
        colour = QUIET
        if effect.decided:
            colour = COLOURS[2] if better * effect.mean > 0 else COLOURS[1]
        if not math.isnan(effect.low):
            axes.plot([scale * effect.low, scale * effect.high], [place, place], color=colour, linewidth=1.6)
        axes.plot(scale * effect.mean, place, "o", color=colour, markersize=4.5)
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.locator_params(axis="x", nbins=5, steps=[1, 2, 5, 10])
    plain_axes(axes, grid="x")


def rank_diagram(study: Study, found: Ranking) -> Figure:
    """Mean ranks over data sets on one line; bars join rows that the Nemenyi test cannot tell apart."""
    figure = new_figure(7.0, 0.9 + 0.16 * len(found.ranks))
    _draw_ranks(figure.subplots(), study, found)
    return figure


def _draw_ranks(axes: Axes, study: Study, found: Ranking) -> None:
    order = sorted(found.ranks, key=lambda name: found.ranks[name])
    ranks, k = [found.ranks[name] for name in order], len(order)
    half = math.ceil(k / 2)
    axes.set(xlim=(0.2, k + 0.8), ylim=(-half - 1.8, 1.6))
    axes.axis("off")
    axes.plot([1, k], [0, 0], color=INK, linewidth=1)
    for tick in range(1, k + 1):
        axes.plot([tick, tick], [0, 0.18], color=INK, linewidth=0.8)
        axes.text(tick, 0.3, str(tick), ha="center", va="bottom", fontsize=8, color=INK)
    for place, (name, rank) in enumerate(zip(order, ranks, strict=True)):
        left = place < half
        depth = -1.3 - (place if left else k - 1 - place)
        edge = 0.9 if left else k + 0.1
        axes.plot([rank, rank, edge], [0, depth, depth], color=QUIET, linewidth=0.8)
        axes.text(
            edge + (-0.05 if left else 0.05),
            depth,
            f"{study.rows[name].title} ({rank:.1f})",
            ha="right" if left else "left",
            va="center",
            fontsize=8,
            color=INK,
        )
    for level, (first, last) in enumerate(cliques(ranks, found.critical_difference)):
        y = -0.25 - 0.18 * level
        axes.plot([ranks[first] - 0.04, ranks[last] + 0.04], [y, y], color=COLOURS[0], linewidth=2.6)
    axes.plot([1, 1 + found.critical_difference], [1.25, 1.25], color=INK, linewidth=1.4)
    axes.text(1, 1.35, f"critical difference {found.critical_difference:.2f}", fontsize=8, color=INK)


def cliques(ranks: Sequence[float], reach: float) -> list[tuple[int, int]]:
    """Largest runs of sorted ranks that span at most ``reach``, as first and last place.

    >>> cliques([1.0, 1.5, 3.0, 3.2], 1.0)
    [(0, 1), (2, 3)]
    """
    found: list[tuple[int, int]] = []
    for first in range(len(ranks)):
        last = max(place for place in range(first, len(ranks)) if ranks[place] - ranks[first] <= reach)
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found
