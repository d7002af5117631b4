"""The figures of the toys for the page, and one PNG for the README."""

from __future__ import annotations

import io
import statistics
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from PIL import Image

from tailormix.atomic import write_atomically
from tailormix.reports.boundary import COLOURS, draw_boundary
from tailormix.reports.density import draw_kernel_density
from tailormix.reports.style import INK, PageFigure, new_figure, page_svg, plain_axes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from demo_toys import Outcome, ToyResult

TAU_MAX, TAU_STD = 1.0, 0.25


def toy_pictures(found: ToyResult) -> list[PageFigure]:
    """The true probability first, then what each method learned and how far it is from the truth."""
    name = found.toy.name
    truth = PageFigure(
        _panel(found, found.truth),
        f"True probability of the classes of {name}",
        "The truth",
        f"The best possible answers are {percent([found.best])} sure, and right as often.",
    )
    learned = [
        PageFigure(
            _panel(found, one.grid),
            f"Probability that {one.method} learned on {name}, {off(one)} from the truth",
            one.method,
            f"Off by {off(one)}: {verdict(one)}.",
        )
        for one in found.outcomes
    ]
    return [truth, *learned]


def _panel(found: ToyResult, grid: object) -> str:
    figure = Figure(figsize=(3.6, 3.0))
    axes = figure.add_axes((0, 0, 1, 1))
    draw_boundary(axes, grid, found.box, found.train)
    return page_svg(figure)


def off(one: Outcome) -> str:
    """The mean distance from the truth, with its deviation over the seeds."""
    values = [100 * value for value in one.off]
    spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.1f}{spread} points"


def verdict(one: Outcome) -> str:
    """How sure it is, and how often it is right."""
    return f"{percent(one.sure)} sure, {percent(one.right)} right"


def percent(shares: Sequence[float]) -> str:
    """Their mean, never divided between two lines."""
    return f"{100 * statistics.fmean(shares):.0f}\N{NO-BREAK SPACE}%"


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


def overview_png(found: Sequence[ToyResult], path: Path) -> None:
    """Each toy in a row: the truth, and what each method learned of it; in few colours."""
    figure = Figure(figsize=(11, 6.1), layout="constrained", dpi=100, facecolor="white")
    top, bottom = figure.subfigures(2, 1, height_ratios=(1, 0.1))
    panels = top.subplots(len(found), 1 + len(found[0].outcomes))
    for row, result in zip(panels, found, strict=True):
        points, best = len(result.train[0]), percent([result.best])
        texts = [f"{result.toy.name}, {points} points\nat best {best} right"]
        texts += [f"off by {off(one)}\n{verdict(one)}" for one in result.outcomes]
        titles = ["The truth", *(one.method for one in result.outcomes)]
        grids = [result.truth, *(one.grid for one in result.outcomes)]
        for axes, title, text, grid in zip(row, titles, texts, grids, strict=True):
            draw_boundary(axes, grid, result.box, result.train)
            axes.set_title(title, fontsize=11, color=INK, fontweight="bold")
            axes.text(0.5, -0.03, text, transform=axes.transAxes, ha="center", va="top", fontsize=9.5)
    _scale(bottom)
    seeds = len(found[0].outcomes[0].off)
    bottom.text(0.01, 0.62, f"off: mean |p - truth| on fresh points, {seeds} seeds", fontsize=9, color=INK)
    drawn, reduced = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png")
    palette = Image.open(drawn).convert("RGB").convert("P", palette=Image.Palette.ADAPTIVE, colors=256)
    palette.save(reduced, format="png", optimize=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, reduced.getvalue())


def _scale(figure: Figure) -> None:
    """What the colours mean."""
    from matplotlib.colors import LinearSegmentedColormap

    axes = figure.add_axes((0.4, 0.6, 0.5, 0.25))
    axes.imshow([list(range(101))], aspect="auto", cmap=LinearSegmentedColormap.from_list("", COLOURS))
    axes.set(yticks=[], xticks=[0, 50, 100])
    axes.set_xticklabels(["certainly blue", "either", "certainly orange"], fontsize=9, color=INK)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
