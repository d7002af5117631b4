"""One look for each method of a problem: the same colour and dash in every picture and legend."""

from __future__ import annotations

from dataclasses import dataclass

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
