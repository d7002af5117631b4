"""What a figure leaves behind: its files, and the numbers behind the picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailormix import checks
from tailormix.atomic import write_atomically

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from matplotlib.figure import Figure

KINDS = ("svg", "png")


@dataclass(frozen=True)
class FigureResult:
    """Files that were written, and facts: JSON-able, with a ``caption`` that says what there is to see."""

    files: tuple[Path, ...]
    facts: dict[str, Any]


def settled(settings: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The figure's defaults with ``settings`` on top; a key that is no setting fails.

    >>> settled({"bins": 5}, {"bins": 20, "seed": 0})
    {'bins': 5, 'seed': 0}
    >>> settled({"bin": 5}, {"bins": 20, "seed": 0})
    Traceback (most recent call last):
    ValueError: unknown setting of the figure 'bin'; did you mean 'bins'? Known: bins, seed
    """
    for key in settings:
        checks.known("setting of the figure", key, defaults)
    return {**defaults, **settings}


def write_figure(figure: Figure, name: str, out: Path, facts: dict[str, Any]) -> FigureResult:
    """Write NAME.svg and NAME.png into ``out``: both are drawn before either is written."""
    from tailormix.reports.style import image_bytes

    drawn = {f"{name}.{kind}": image_bytes(figure, kind) for kind in KINDS}
    out.mkdir(parents=True, exist_ok=True)
    return FigureResult(tuple(write_atomically(out / file, data) for file, data in drawn.items()), facts)
