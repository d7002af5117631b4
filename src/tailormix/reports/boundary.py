"""What a classifier of the plane believes: heat map, frontier and data (the paper's toy figures)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import LinearSegmentedColormap

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Points = NDArray[np.floating]
    Labels = NDArray[np.integer]
    Predict = Callable[[Points], Points]

FIRST, SECOND = "#123f73", "#9c3208"
BELIEF = LinearSegmentedColormap.from_list("belief", ["#6ea8dc", "#bcd8f0", "#faf8f4", "#f8d3b4", "#ee9c5f"])


def extent_of(points: Points, margin: float = 0.5) -> tuple[float, float, float, float]:
    """The box (left, right, bottom, top) around points (n, 2), with a margin.

    >>> extent_of(np.array([[0.0, 0.0], [1.0, 2.0]]))
    (-0.5, 1.5, -0.5, 2.5)
    """
    (left, bottom), (right, top) = points.min(axis=0) - margin, points.max(axis=0) + margin
    return float(left), float(right), float(bottom), float(top)


def confidence_grid(
    predict: Predict, extent: tuple[float, float, float, float], cells: int = 160
) -> NDArray[np.floating]:
    """P(second class) on a grid of (cells, cells) points over the box; row 0 is the bottom."""
    left, right, bottom, top = extent
    x, y = np.meshgrid(np.linspace(left, right, cells), np.linspace(bottom, top, cells))
    return predict(np.stack((x.ravel(), y.ravel()), axis=1)).reshape(cells, cells)


def draw_boundary(
    axes: Axes,
    grid: NDArray[np.floating],
    extent: tuple[float, float, float, float],
    train: tuple[Points, Labels],
    test: tuple[Points, Labels],
) -> None:
    """Draw beliefs as colour, the frontier as a line, training data as circles and test data as stars."""
    axes.imshow(
        grid,
        origin="lower",
        extent=extent,
        cmap=BELIEF,
        vmin=0,
        vmax=1,
        interpolation="bilinear",
        aspect="auto",
    )
    axes.contour(grid, [0.5], extent=extent, colors="#1d2430", linewidths=1.6)
    for (points, labels), marker, size in ((train, "o", 30), (test, "*", 120)):
        colours = np.where(labels == 0, FIRST, SECOND)
        axes.scatter(
            points[:, 0],
            points[:, 1],
            c=colours,
            marker=marker,
            s=size,
            edgecolors="white",
            linewidths=0.8,
            zorder=3,
        )
    axes.set_xlim(extent[:2])
    axes.set_ylim(extent[2:])
    axes.set_axis_off()
