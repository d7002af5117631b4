"""The style that all figures share: colours, lines, axes, and figures as images."""

from __future__ import annotations

import io
import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


INK = "#222222"
QUIET = "#6b6b6b"
GRID = "#dddddd"
# Blue and orange of Okabe and Ito: far apart in hue, and in lightness too once printed grey.
BLUE = "#0072b2"
ORANGE = "#e69f00"
BAND = "#dedede"


def new_figure(width: float, height: float) -> Figure:
    """An empty figure (inches), outside pyplot's global state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def plain_axes(axes: Axes, *, grid: str = "both") -> None:
    """Remove the frame and set grid, ticks and labels."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(QUIET)
    axes.grid(True, axis=grid, color=GRID, linewidth=0.6)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    axes.tick_params(colors=INK, labelsize=9, length=3, color=QUIET)
    for label in (axes.xaxis.label, axes.yaxis.label):
        label.set(color=INK, fontsize=10)


def corner_note(axes: Axes, text: str, *, where: str = "upper left") -> None:
    """Write ``text`` into a corner, on white, so that it stays readable over bars."""
    x, across = (0.03, "left") if "left" in where else (0.97, "right")
    y, along = (0.965, "top") if "upper" in where else (0.035, "bottom")
    box = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": GRID, "alpha": 0.93}
    note = axes.text(x, y, text, transform=axes.transAxes, ha=across, va=along, zorder=10, bbox=box)
    note.set(fontsize=10, color=INK, linespacing=1.35)


def percent_axis(axis: Any) -> None:
    """Show fractions as percent; a margin beyond 1 has no label."""
    axis.set_major_formatter(
        lambda value, _: "" if value > 1 + 1e-9 else f"{round(100 * value, 1) + 0.0:g} %"
    )


def image_bytes(figure: Figure, kind: str = "png", *, dpi: int = 160, text: str = "path") -> bytes:
    """The figure as ``png``, ``svg`` or ``pdf``; the same numbers always give the same bytes.

    ``text`` of an SVG: ``"path"`` draws the letters, ``"none"`` leaves them to the fonts of the page.
    """
    import matplotlib as mpl

    buffer = io.BytesIO()
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {"Software": None})
    with mpl.rc_context({"svg.hashsalt": "tailormix", "svg.fonttype": text, "font.family": "sans-serif"}):
        figure.savefig(buffer, format=kind, dpi=dpi, metadata=undated)
    return buffer.getvalue()


#: Okabe and Ito without the yellow, which is hard to see on white; ERM is grey
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
GREY = "#7d8590"
DASHES: tuple[tuple[float, ...], ...] = ((), (5, 2), (1.5, 1.5), (6, 2, 1.5, 2))


@dataclass(frozen=True)
class LineStyle:
    """Colour and dash pattern (lengths on and off; empty for a solid line)."""

    colour: str
    dash: tuple[float, ...] = ()

    @property
    def linestyle(self) -> str | tuple[float, tuple[float, ...]]:
        """As matplotlib takes it."""
        return (0, self.dash) if self.dash else "-"

    @property
    def dasharray(self) -> str:
        """As SVG takes it."""
        return " ".join(f"{length:g}" for length in self.dash) or "none"


def line_styles(methods: list[str]) -> list[LineStyle]:
    """A style for each method: ERM is grey, the others cycle through the colours, then the dashes.

    >>> [style.colour for style in line_styles(["erm", "mixup"])]
    ['#7d8590', '#0072b2']
    """
    styles: list[LineStyle] = []
    cycle = (LineStyle(colour, dash) for dash in itertools.cycle(DASHES) for colour in COLOURS)
    for name in methods:
        grey = name == "erm" and LineStyle(GREY) not in styles
        styles.append(LineStyle(GREY) if grey else next(cycle))
    return styles


#: colours that follow the theme of the page, light or dark
THEMED = {
    INK: "var(--ink)",
    QUIET: "var(--soft)",
    GRID: "var(--rule)",
    "#ffffff": "var(--card)",
    BAND: "var(--band)",
}


@dataclass(frozen=True)
class PageFigure:
    """A figure on an HTML page: the drawing, a description for screen readers, title and caption."""

    svg: str
    label: str
    title: str = ""
    caption: str = ""


def page_svg(figure: Figure) -> str:
    """The figure as an ``<svg>`` element: no background, text as text, no ids that could clash."""
    figure.patch.set_alpha(0)
    text = image_bytes(figure, "svg", text="none").decode()
    text = text[text.index("<svg") :]
    text = re.sub(r' id="[A-Za-z.]+_?[0-9]+"', "", text)  # matplotlib numbers every figure alike
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    for colour, variable in THEMED.items():
        text = text.replace(colour, variable)
    return re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL)
