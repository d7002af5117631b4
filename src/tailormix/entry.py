"""What the command line tells of a method. Imports without torch."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from tailormix.method import Method


@dataclass(frozen=True)
class Entry:
    """A method in the list.

    Attributes:
        build: makes the method from its settings.
        section: where the paper speaks of it.
        passes: samples forwarded with gradient, and without, for a batch of n.

    """

    build: Callable[..., Method]
    section: str
    passes: str

    @property
    def summary(self) -> str:
        """One line about it."""
        return (self.build.__doc__ or "").splitlines()[0]

    @property
    def defaults(self) -> dict[str, Any]:
        """Settings with the values they have when nobody says otherwise."""
        parameters = inspect.signature(self.build).parameters.values()
        skipped = ("num_classes", "embedding_layer")
        return {p.name: p.default for p in parameters if p.name not in skipped and p.default is not None}
