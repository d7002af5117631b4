"""The figures of the toys for the page, and one PNG for the README."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from PIL import Image

from tailormix.atomic import write_atomically
from tailormix.reports.boundary import draw_boundary
from tailormix.reports.density import draw_kernel_density
from tailormix.reports.run_figures import pooled_reliability
from tailormix.reports.style import PageFigure, line_styles, new_figure, page_svg, plain_axes

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from demo_toys import Outcome
    from tailormix.reports.run_groups import Problem

SHOWN = ("ERM", "Mixup", "SK Mixup")
TAU_MAX, TAU_STD = 1.0, 0.25


def boundary_picture(outcome: Outcome) -> PageFigure:
    """One panel that the heat map fills."""
    figure = Figure(figsize=(3.6, 3.0))
    axes = figure.add_axes((0, 0, 1, 1))
    draw_boundary(axes, outcome.grid, outcome.extent, outcome.train, outcome.test)
    found = outcome.scores["fresh"]
    return PageFigure(
        page_svg(figure),
        f"Decision frontier and confidence of {outcome.method} on {outcome.data}",
        outcome.method,
        f"ECE {100 * found['ece']:.1f} %, accuracy {100 * found['accuracy']:.1f} %",
    )


def density_picture() -> PageFigure:
    """The density of the mixing coefficient against distance, with its scale."""
    figure = new_figure(5.2, 3.9)
    axes = figure.add_subplot()
    image = draw_kernel_density(axes, TAU_MAX, TAU_STD)
    bar = figure.colorbar(image, ax=axes, pad=0.02, ticks=[0.1, 1, 10], format="%g")
    bar.set_label("density")
    bar.outline.set_visible(False)
    for each in (axes, bar.ax):
        plain_axes(each)
        each.grid(False)
    return PageFigure(
        page_svg(figure),
        "Heat map: density of the mixing coefficient against distance",
        "Density of the mixing coefficient",
        f"after warping with the similarity kernel, τ_max = {TAU_MAX:g} and τ_std = {TAU_STD:g}. Brighter is "
        "denser, on a logarithmic scale. At d̄ = 1 every coefficient is as likely as any other.",
    )


def draw_reliabilities(axes: Axes, problem: Problem) -> None:
    """Draw one line per method, before temperature; larger dots stand for more points."""
    axes.plot([0, 1], [0, 1], color="#999999", linewidth=1, linestyle=(0, (4, 4)), zorder=1)
    for group, style in zip(
        problem.groups, line_styles([g.method["name"] for g in problem.groups]), strict=True
    ):
        curve = pooled_reliability(group)
        enough = curve.count >= curve.count.sum() / 500
        share = curve.count[enough] / curve.count.sum()
        x, y = curve.confidence[enough], curve.accuracy[enough]
        axes.plot(x, y, "o-", color=style.colour, markersize=0, linewidth=1.6, label=group.label)
        axes.scatter(x, y, s=12 + 200 * share, color=style.colour, alpha=0.75, linewidths=0)
    axes.set(xlim=(0.15, 1.03), ylim=(0.15, 1.03), xlabel="confidence", ylabel="accuracy")
    axes.legend(frameon=False, loc="lower right", fontsize=8)


def overview_png(outcomes: list[Outcome], digits: Problem, path: Path) -> None:
    """Two toys × three methods, the density and the digits beside them, in few colours."""
    figure = Figure(figsize=(11, 4.9), layout="constrained", dpi=100)
    left, right = figure.subfigures(1, 2, width_ratios=(2.35, 1))
    panels = left.subplots(2, 3)
    shown = [each for each in outcomes if each.method in SHOWN]
    for axes, outcome in zip(panels.ravel(), shown, strict=True):
        draw_boundary(axes, outcome.grid, outcome.extent, outcome.train, outcome.test)
        axes.set_title(f"{outcome.method}   ECE {100 * outcome.scores['fresh']['ece']:.1f} %", fontsize=10)
    density, reliability = right.subplots(2, 1)
    draw_kernel_density(density, TAU_MAX, TAU_STD)
    draw_reliabilities(reliability, digits)
    density.set_title("Density of the mixing coefficient", fontsize=10)
    reliability.set_title("Digits: accuracy by confidence", fontsize=10)
    drawn, reduced = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png")
    palette = Image.open(drawn).convert("RGB").convert("P", palette=Image.Palette.ADAPTIVE, colors=256)
    palette.save(reduced, format="png", optimize=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, reduced.getvalue())
