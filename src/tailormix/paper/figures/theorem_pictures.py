"""What the illustration of the theorems shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tailormix.paper.figures.theorems import Discs, Gap, bound, counter_example, gaps, noise, union
from tailormix.reports.style import BLUE, INK, ORANGE, corner_note, new_figure, plain_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

PALE_BLUE, PALE_GREY = "#a9cbe6", "#d3d3d3"
RADIUS = 0.17


def draw_theorems(bounds: Numbers, noises: dict[str, Numbers]) -> Figure:
    """Gaps between classes, then value against bound for sampled and for arg-max labels."""
    figure = new_figure(11.6, 3.9)
    lines, *scatters = figure.subplots(1, 3, width_ratios=(1.15, 1, 1))
    _draw_gaps(lines)
    for axes, reading in zip(scatters, ("sampled", "arg-max"), strict=True):
        _draw_bound(axes, bounds, noises[reading], reading)
    scatters[0].set_ylabel("probability of a noisy label")
    _legend(figure)
    return figure


def _legend(figure: Figure) -> None:
    from matplotlib.lines import Line2D

    star: dict[str, Any] = {"markerfacecolor": "white", "markeredgecolor": INK, "markersize": 11}
    handles = [
        Line2D([], [], color=ORANGE, linewidth=3.2, label="outside the classes of both ends"),
        Line2D([], [], color=BLUE, marker="o", linestyle="", markersize=5, label="bound holds"),
        Line2D([], [], color=ORANGE, marker="v", linestyle="", markersize=5, label="bound fails"),
        Line2D([], [], color=INK, linestyle=(0, (5, 3)), linewidth=1.1, label="value = bound"),
        Line2D([], [], marker="*", linestyle="", label="worked example", **star),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=5, fontsize=8.5, frameon=False)


def moons() -> tuple[Discs, Discs]:
    """Two interleaved half circles as chains of discs."""
    angle = np.linspace(0, np.pi, 60)
    upper = np.stack((np.cos(angle), np.sin(angle)), axis=1)
    lower = np.stack((1 - np.cos(angle), 0.5 - np.sin(angle)), axis=1)
    radii = np.full(len(angle), RADIUS)
    return Discs(upper, radii), Discs(lower, radii)


def _draw_gaps(axes: Axes) -> None:
    from matplotlib.collections import EllipseCollection

    upper, lower = moons()
    for one, colour in ((upper, PALE_BLUE), (lower, PALE_GREY)):
        size = 2 * one.radii
        offsets = {"offsets": one.centres, "transOffset": axes.transData}
        discs = EllipseCollection(size, size, np.zeros(len(size)), units="xy", facecolors=colour, **offsets)
        axes.add_collection(discs)
    _draw_line(axes, upper.centres[50], upper.centres[2], upper, one_class=True)
    _draw_line(axes, upper.centres[32], lower.centres[40], union(upper, lower), one_class=False)
    axes.update_datalim([(-1.25, -0.75), (2.25, 1.25)])
    axes.autoscale_view()
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_axis_off()
    axes.set_title("Theorem 3.1: mixes leave their classes", fontsize=11, color=INK, loc="left")


def _draw_line(axes: Axes, x_k: Numbers, x_l: Numbers, own: Discs, *, one_class: bool) -> None:
    ends = np.stack((x_k, x_l))
    axes.plot(*ends.T, color=INK, linewidth=1.2, zorder=3)
    for low, high in gaps(x_k, x_l, own):
        lost = Gap(x_k, x_l, low, high, one_class).mix(np.array([low, high]))
        axes.plot(*lost.T, color=ORANGE, linewidth=3.2, solid_capstyle="butt", zorder=4)
    axes.scatter(ends[:, 0], ends[:, 1], s=34, color=INK, edgecolors="white", linewidths=0.8, zorder=5)


def _draw_bound(axes: Axes, bounds: Numbers, values: Numbers, reading: str) -> None:
    below = values < bounds
    for chosen, colour, marker in ((~below, BLUE, "o"), (below, ORANGE, "v")):
        if chosen.any():
            axes.scatter(
                bounds[chosen],
                values[chosen],
                s=9,
                color=colour,
                marker=marker,
                alpha=0.45,
                linewidths=0,
            )
    axes.plot([0, 0.5], [0, 0.5], color=INK, linewidth=1.1, linestyle=(0, (5, 3)))
    worked = counter_example()
    look: dict[str, Any] = {"s": 150, "marker": "*", "color": "white", "edgecolors": INK, "linewidths": 1.1}
    axes.scatter([bound(worked)], [noise(worked)[reading]], zorder=6, clip_on=False, **look)
    axes.set_yticks(np.linspace(0, 1, 6))
    axes.set(xlim=(0, 0.5), ylim=(-0.03, 1.22), xlabel="bound,  min(λ, 1 − λ) W₁ / R")
    plain_axes(axes)
    title = "labels drawn at random" if reading == "sampled" else "arg-max labels, as printed"
    axes.set_title(f"Theorem 3.2: {title}", fontsize=11, color=INK, loc="left")
    corner_note(axes, f"below: {100 * below.mean():.0f} % of {len(below)}", where="upper right")
