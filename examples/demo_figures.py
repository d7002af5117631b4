"""The pictures of the demo: inline SVG for the page, one PNG for the README."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure
from PIL import Image

from tailormix.reports.boundary import draw_boundary
from tailormix.reports.density import draw_density

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from demo_training import Outcome

INK = "#010203"  # stands for the text colour of the page, whichever it is
COLOURS = {"ERM": "#7a8594", "Mixup": "#c0392b", "SK Mixup": "#0f8a6c"}
TAU_MAX, TAU_STD = 1.0, 0.25


def boundary_svg(outcome: Outcome) -> str:
    """One panel, without any border: the heat map fills it."""
    figure = Figure(figsize=(3.6, 3.0))
    axes = figure.add_axes((0, 0, 1, 1))
    draw_boundary(axes, outcome.grid, outcome.extent, outcome.train, outcome.test)
    return svg(figure)


def density_svg() -> str:
    """The law of the mixing coefficient against distance, with its scale."""
    figure = Figure(figsize=(5.2, 3.9), layout="constrained")
    axes = figure.subplots()
    image = draw_density(axes, TAU_MAX, TAU_STD)
    bar = figure.colorbar(image, ax=axes, pad=0.02, ticks=[0.1, 1, 10], format="%g")
    bar.set_label("density")
    bar.outline.set_visible(False)
    for each in (axes, bar.ax):
        _paint(each)
    return svg(figure)


def reliability_svg(outcomes: list[Outcome]) -> str:
    """Accuracy against confidence on fresh points; the diagonal is what a calibrated model does."""
    figure = Figure(figsize=(5.2, 3.9), layout="constrained")
    axes = figure.subplots()
    draw_reliability(axes, outcomes)
    _paint(axes)
    for text in axes.get_legend().get_texts():
        text.set_color(INK)
    return svg(figure)


def draw_reliability(axes: Axes, outcomes: list[Outcome]) -> None:
    """One line a method; the larger a dot, the more points have that confidence."""
    axes.plot([0.5, 1], [0.5, 1], color="#999999", linewidth=1, linestyle=(0, (4, 4)), zorder=1)
    for outcome in (each for each in outcomes if each.method in COLOURS):
        confidence, accuracy, share = zip(*outcome.reliability, strict=True)
        colour = COLOURS[outcome.method]
        axes.plot(confidence, accuracy, color=colour, linewidth=1.6, alpha=0.8)
        axes.scatter(
            confidence, accuracy, s=[14 + 260 * s for s in share], color=colour, alpha=0.75, linewidths=0
        )
        axes.plot([], [], "o-", color=colour, label=outcome.method)
    axes.set(xlim=(0.49, 1.02), ylim=(0.3, 1.03), xlabel="confidence", ylabel="accuracy")
    axes.legend(frameon=False, loc="lower right")


def overview_png(outcomes: list[Outcome], path: Path) -> None:
    """Two problems × three methods, and the density beside them, in few colours and bytes."""
    figure = Figure(figsize=(11, 4.9), layout="constrained", dpi=100)
    left, right = figure.subfigures(1, 2, width_ratios=(2.35, 1))
    panels = left.subplots(2, 3)
    shown = [each for each in outcomes if each.method in COLOURS]
    for axes, outcome in zip(panels.ravel(), shown, strict=True):
        draw_boundary(axes, outcome.grid, outcome.extent, outcome.train, outcome.test)
        axes.set_title(f"{outcome.method}   ECE {100 * outcome.scores['fresh']['ece']:.1f} %", fontsize=10)
    density, reliability = right.subplots(2, 1)
    draw_density(density, TAU_MAX, TAU_STD)
    draw_reliability(reliability, [each for each in outcomes if each.data == "Circles"])
    density.set_title("Density of the mixing coefficient", fontsize=10)
    reliability.set_title("Circles: is confidence deserved?", fontsize=10)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    Image.open(buffer).convert("RGB").convert("P", palette=Image.Palette.ADAPTIVE, colors=256).save(
        partial, format="png", optimize=True
    )
    partial.replace(path)


def svg(figure: Figure) -> str:
    """The figure as an ``<svg>`` element that takes its text colour and font from the page."""
    figure.patch.set_alpha(0)
    buffer = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "demo", "font.family": "sans-serif"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :].replace(INK, "currentColor")


def _paint(axes: Axes) -> None:
    """Axes without a box, in the colour of the page's text."""
    axes.patch.set_alpha(0)
    axes.tick_params(colors=INK, length=3)
    for label in (axes.xaxis.label, axes.yaxis.label):
        label.set_color(INK)
    for spine in axes.spines.values():
        spine.set_visible(False)
