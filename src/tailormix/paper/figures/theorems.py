"""The paper's two theorems, checked on random instances and drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tailormix import checks
from tailormix.paper.drawing import FigureResult, figure_settings, write_figure
from tailormix.paper.figures.theorem_math import (
    READINGS,
    Discs,
    Gap,
    bound,
    counter_example,
    gaps,
    noise,
    random_classes,
    random_instance,
    truth,
    union,
    wasserstein,
    widest_gap,
)
from tailormix.reports.style import BLUE, INK, ORANGE, corner_note, new_figure, plain_axes

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]


DEFAULTS: dict[str, Any] = {"instances": 2000, "seed": 0}
INSIDE = (0.02, 0.25, 0.5, 0.75, 0.98)
ROUNDING = 1e-12
CAPTION = (
    "Left: straight lines between points of one class or of two leave the classes. Middle: with labels drawn "
    "at random the probability of a noisy label never falls below the bound of the second theorem. Right: "
    "with arg-max labels, as it is printed, it does wherever both labels agree. The star is a worked example."
)
PALE_BLUE, PALE_GREY = "#a9cbe6", "#d3d3d3"
RADIUS = 0.17


def make(settings: dict[str, Any], runs: Path, out: Path) -> FigureResult:
    """Check both theorems on random instances and draw value against bound (needs no run).

    Settings: ``instances`` of each theorem, ``seed``.
    """
    del runs
    chosen = figure_settings(settings, DEFAULTS)
    checks.integer("instances", chosen["instances"], at_least=1)
    found_gaps = check_gaps(chosen["instances"], chosen["seed"])
    bounds, noises = sample_noise(chosen["instances"], chosen["seed"])
    facts = {
        "caption": CAPTION,
        "settings": chosen,
        "theorem 3.1": found_gaps,
        "theorem 3.2": {name: compared(bounds, values) for name, values in noises.items()},
        "counter-example": example_facts(),
    }
    return write_figure(_draw(bounds, noises), "theorems", out, facts)


def check_gaps(instances: int, seed: int) -> dict[str, Any]:
    """How many random pairs of classes have a gap (i), and how far its length is from the formula (ii)."""
    random = np.random.default_rng(seed)
    kinds, error, outside = {"one class": 0, "two classes": 0}, 0.0, 0
    for _ in range(instances):
        first, second = random_classes(random)
        gap = widest_gap(first, second)
        if gap is None:
            continue
        kinds["one class" if gap.one_class else "two classes"] += 1
        error = max(error, abs(gap.length - gap.promised))
        own = [one for one in (first, second) if not gap.one_class or one.holds(gap.x_k[None]).all()]
        outside += not any(one.holds(_middles(gap)).any() for one in own)
    facts = {"instances": instances, "with a gap": sum(kinds.values()), "widest gap between points of": kinds}
    return {**facts, "gaps whose mixes lie outside": outside, "largest error of the length": error}


def _middles(gap: Gap) -> Numbers:
    return gap.mix(gap.low + np.array(INSIDE) * (gap.high - gap.low))


def sample_noise(instances: int, seed: int) -> tuple[Numbers, dict[str, Numbers]]:
    """The bound (n,) of random instances and, under each reading, their P(Ỹ* ≠ Ỹ), (n,)."""
    random = np.random.default_rng(seed)
    drawn = [random_instance(random) for _ in range(instances)]
    values = [noise(one) for one in drawn]
    return np.array([bound(one) for one in drawn]), {
        reading: np.array([one[reading] for one in values]) for reading in READINGS
    }


def compared(bounds: Numbers, values: Numbers) -> dict[str, Any]:
    """How many values fall below their bound, and the smallest margin.

    >>> import numpy as np
    >>> compared(np.array([0.1, 0.2]), np.array([0.3, 0.0]))
    {'instances': 2, 'below the bound': 1, 'share below': 0.5, 'smallest margin': -0.2}
    """
    margin = values - bounds
    below = int((margin < -ROUNDING).sum())
    shares = {"share below": below / len(margin), "smallest margin": float(margin.min())}
    return {"instances": len(margin), "below the bound": below, **shares}


def example_facts() -> dict[str, Any]:
    """The counter-example with all its numbers."""
    one = counter_example()
    ends = [[float(group.min()), float(group.max())] for group in one.classes]
    return {
        "classes": ends,
        "x": float(one.x[0]),
        "x'": float(one.other[0]),
        "lambda": one.lam,
        "mixed": float(one.mixed[0]),
        "truth at mixed": truth(one, one.mixed).tolist(),
        "W1": wasserstein(one.classes[0], one.classes[1]),
        "R": float(one.classes.max() - one.classes.min()),
        "bound": bound(one),
        "noise": noise(one),
    }


def _draw(bounds: Numbers, noises: dict[str, Numbers]) -> Figure:
    """Gaps between classes, then value against bound for sampled and for arg-max labels."""
    figure = new_figure(11.6, 3.9)
    lines, *scatters = figure.subplots(1, 3, width_ratios=(1.15, 1, 1))
    _draw_gaps(lines)
    for axes, reading in zip(scatters, ("sampled", "arg-max"), strict=True):
        _draw_bound(axes, bounds, noises[reading], reading)
    scatters[0].set_ylabel("probability of a noisy label")
    _draw_legend(figure)
    return figure


def _draw_legend(figure: Figure) -> None:
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


def _moons() -> tuple[Discs, Discs]:
    """Two interleaved half circles as chains of discs."""
    angle = np.linspace(0, np.pi, 60)
    upper = np.stack((np.cos(angle), np.sin(angle)), axis=1)
    lower = np.stack((1 - np.cos(angle), 0.5 - np.sin(angle)), axis=1)
    radii = np.full(len(angle), RADIUS)
    return Discs(upper, radii), Discs(lower, radii)


def _draw_gaps(axes: Axes) -> None:
    from matplotlib.collections import EllipseCollection

    upper, lower = _moons()
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
            dots = axes.scatter(bounds[chosen], values[chosen], s=9, color=colour, marker=marker)
            dots.set(alpha=0.45, linewidths=0)
    axes.plot([0, 0.5], [0, 0.5], color=INK, linewidth=1.1, linestyle=(0, (5, 3)))
    worked = counter_example()
    star = axes.scatter([bound(worked)], [noise(worked)[reading]], s=150, marker="*", color="white")
    star.set(edgecolors=INK, linewidths=1.1, zorder=6, clip_on=False)
    axes.set_yticks(np.linspace(0, 1, 6))
    axes.set(xlim=(0, 0.5), ylim=(-0.03, 1.22), xlabel="bound,  min(λ, 1 − λ) W₁ / R")
    plain_axes(axes)
    title = "labels drawn at random" if reading == "sampled" else "arg-max labels, as printed"
    axes.set_title(f"Theorem 3.2: {title}", fontsize=11, color=INK, loc="left")
    corner_note(axes, f"below: {100 * below.mean():.0f} % of {len(below)}", where="upper right")
