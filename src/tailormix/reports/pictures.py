"""Figures inside a page: SVG that takes its colours and type from the page, with a text in its stead."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailormix.reports.style import GRID, INK, QUIET, image_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
