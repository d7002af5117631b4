"""Decision frontiers on Moons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .toys import make_toy

if TYPE_CHECKING:
    from pathlib import Path

    from .record import FigureResult


def make(settings: dict[str, Any], runs: Path, out: Path) -> FigureResult:
    """See :func:`.toys.make_toy`."""
    del runs
    return make_toy("moons", settings, out)
