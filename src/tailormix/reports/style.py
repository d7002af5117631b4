"""One look for all pictures: colours, lines, and figures as images."""

from __future__ import annotations

import io
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
PALE_ORANGE = "#f8dd9c"
BAND = "#c9c9c9"


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure (inches) that no window and no global list knows about."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def plain_axes(axes: Axes, *, grid: str = "both") -> None:
    """Remove what carries no information and set the type."""
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
    axes.text(
        x,
        y,
        text,
        transform=axes.transAxes,
        ha=across,
        va=along,
        fontsize=10,
        color=INK,
        linespacing=1.35,
        zorder=10,
        bbox={"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": GRID, "alpha": 0.93},
    )


def percent_axis(axis: Any) -> None:
    """Show fractions as percent."""
    from matplotlib.ticker import PercentFormatter

    axis.set_major_formatter(PercentFormatter(xmax=1, decimals=0, symbol=" %"))


def image_bytes(figure: Figure, kind: str = "png", *, dpi: int = 160, letters: str = "path") -> bytes:
    """Return the figure as ``png``, ``svg`` or ``pdf``; the same numbers always give the same bytes.

    ``letters`` of an SVG: ``"path"`` draws them, ``"none"`` leaves them to the fonts of the page.
    """
    import matplotlib as mpl

    buffer = io.BytesIO()
    still: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(
        kind, {"Software": None}
    )
    with mpl.rc_context({"svg.hashsalt": "tailormix", "svg.fonttype": letters, "font.family": "sans-serif"}):
        figure.savefig(buffer, format=kind, dpi=dpi, metadata=still)
    return buffer.getvalue()


#: Okabe and Ito, without the yellow that a page swallows; plain training is the grey one
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
PLAIN = "#7d8590"
DASHES: tuple[tuple[float, ...], ...] = ((), (5, 2), (1.5, 1.5), (6, 2, 1.5, 2))


@dataclass(frozen=True)
class Look:
    """Colour and dash (lengths on and off; none is a full line)."""

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


def looks(methods: list[str]) -> list[Look]:
    """A look for each method: plain training is grey, the others go through the colours, then the dashes.

    >>> [look.colour for look in looks(["erm", "mixup"])]
    ['#7d8590', '#0072b2']
    """
    found, number = [], 0
    for name in methods:
        if name == "erm" and Look(PLAIN) not in found:
            found.append(Look(PLAIN))
            continue
        found.append(Look(COLOURS[number % len(COLOURS)], DASHES[number // len(COLOURS) % len(DASHES)]))
        number += 1
    return found


#: colours of the diagrams that follow the page, in light and in dark
FOLLOWING = {INK: "var(--ink)", QUIET: "var(--soft)", GRID: "var(--rule)", "#ffffff": "var(--card)"}


@dataclass(frozen=True)
class Picture:
    """A drawing, what it shows for those who cannot see it, and the words below it."""

    svg: str
    label: str
    title: str = ""
    caption: str = ""


def page_svg(figure: Figure) -> str:
    """The figure as an ``<svg>`` element: no ground of its own, text as text, no names that could clash."""
    figure.patch.set_alpha(0)
    text = image_bytes(figure, "svg", letters="none").decode()
    text = text[text.index("<svg") :]
    text = re.sub(r' id="[A-Za-z.]+_?[0-9]+"', "", text)  # matplotlib's numbering, the same in every figure
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    for colour, following in FOLLOWING.items():
        text = text.replace(colour, following)
    return re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL)
