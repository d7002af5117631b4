"""What ``tailormix list`` shows: one function a family, none of which imports torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailormix.losses.catalogue import LOSSES
from tailormix.methods import METHODS

if TYPE_CHECKING:
    from collections.abc import Callable

Row = dict[str, Any]


def methods() -> list[Row]:
    """Name, one line, section of the paper, defaults and cost of every method."""
    return [
        {
            "name": name,
            "what": entry.summary,
            "paper": entry.section,
            "defaults": entry.defaults,
            "samples forwarded": entry.passes,
        }
        for name, entry in METHODS.items()
    ]


def losses() -> list[Row]:
    """Name, one line, section of the paper and defaults of every loss."""
    return [
        {
            "name": name,
            "what": record.summary,
            "paper": record.section,
            "defaults": record.defaults,
            "soft targets": "yes" if record.soft_targets else "no",
        }
        for name, record in LOSSES.items()
    ]


FAMILIES: dict[str, Callable[[], list[Row]]] = {"methods": methods, "losses": losses}
