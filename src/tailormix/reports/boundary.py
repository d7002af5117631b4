"""Decision boundaries in the plane: confidence as a heat map, the frontier, and the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Points = NDArray[np.floating]
    Labels = NDArray[np.integer]
    Predict = Callable[[Points], Points]
    Box = tuple[float, float, float, float]

FIRST, SECOND = "#123f73", "#9c3208"
COLOURS = ["#6ea8dc", "#bcd8f0", "#faf8f4", "#f8d3b4", "#ee9c5f"]  # from the first class to the second


def bounding_box(points: Points, margin: float = 0.5) -> Box:
    """The box (left, right, bottom, top) around points (n, 2), with a margin.

    >>> bounding_box(np.array([[0.0, 0.0], [1.0, 2.0]]))
    (-0.5, 1.5, -0.5, 2.5)
    """
    (left, bottom), (right, top) = points.min(axis=0) - margin, points.max(axis=0) + margin
    return float(left), float(right), float(bottom), float(top)


def confidence_grid(predict: Predict, box: Box, cells: int = 160) -> NDArray[np.floating]:
    """P(second class) on a grid of (cells, cells) points over the box; row 0 is the bottom."""
    left, right, bottom, top = box
    x, y = np.meshgrid(np.linspace(left, right, cells), np.linspace(bottom, top, cells))
    return predict(np.stack((x.ravel(), y.ravel()), axis=1)).reshape(cells, cells)


def draw_boundary(
    axes: Axes,
    grid: NDArray[np.floating],
    box: Box,
    train: tuple[Points, Labels],
    test: tuple[Points, Labels] | None = None,
) -> None:
    """Draw confidence as colour, the frontier as a line, training data as circles and test data as stars."""
    from matplotlib.colors import LinearSegmentedColormap

    colours = LinearSegmentedColormap.from_list("confidence", COLOURS)
    axes.imshow(grid, extent=box, cmap=colours, vmin=0, vmax=1, origin="lower", aspect="auto").set(
        interpolation="bilinear"
    )
    axes.contour(grid, [0.5], extent=box, colors="#1d2430", linewidths=1.6)
    for data, marker, size in ((train, "o", 30), (test, "*", 120)):
        if data is None:
            continue
        points, labels = data
        dots = axes.scatter(points[:, 0], points[:, 1], s=size, marker=marker, linewidths=0.8, zorder=3)
        dots.set(facecolors=np.where(labels == 0, FIRST, SECOND), edgecolors="white")
    axes.set_xlim(box[:2])
    axes.set_ylim(box[2:])
    axes.set_axis_off()
