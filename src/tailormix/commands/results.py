"""``tailormix results``: stub."""

from __future__ import annotations


def results() -> None:
    """Stub."""
