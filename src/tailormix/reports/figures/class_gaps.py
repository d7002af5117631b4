"""Theorem 3.1: between and inside classes, straight lines leave them.

In own words: let two classes be closed, bounded and without a common point. Then (i) there are two of their
points, x_k and x_l, and numbers λ₂ < λ₁, so that no mix x̃(λ) = λ x_k + (1 - λ) x_l with λ₂ < λ < λ₁ lies in
the class of either; and (ii) the stretch that is lost has the length (λ₁ - λ₂) ‖x_k - x_l‖: far pairs lose
much. (Closed is needed: with [0, 1) and [1, 2] every mix lies in one of the two.)

Here a class is a union of discs, so that where a line leaves it is a matter of square roots.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Discs:
    """A class: the union of discs with ``centres`` (k, 2) and ``radii`` (k,)."""

    centres: Numbers
    radii: Numbers

    def holds(self, points: Numbers) -> NDArray[np.bool_]:
        """Whether points (n, 2) lie in the class."""
        apart = np.linalg.norm(points[:, None] - self.centres, axis=2)
        inside: NDArray[np.bool_] = (apart <= self.radii).any(1)
        return inside


@dataclass(frozen=True, eq=False)
class Gap:
    """A pair, and λ₂ = ``low`` and λ₁ = ``high`` between which its mixes lie in the class of neither."""

    x_k: Numbers
    x_l: Numbers
    low: float
    high: float
    one_class: bool

    def mix(self, lam: Numbers) -> Numbers:
        """x̃(λ), (n, 2)."""
        found: Numbers = lam[:, None] * self.x_k + (1 - lam[:, None]) * self.x_l
        return found

    @property
    def length(self) -> float:
        """‖x̃(λ₁) - x̃(λ₂)‖, measured between the two points."""
        ends = self.mix(np.array([self.low, self.high]))
        return float(np.linalg.norm(ends[1] - ends[0]))

    @property
    def promised(self) -> float:
        """(λ₁ - λ₂) ‖x_k - x_l‖."""
        return (self.high - self.low) * float(np.linalg.norm(self.x_k - self.x_l))


def gaps(x_k: Numbers, x_l: Numbers, own: Discs) -> list[tuple[float, float]]:
    """Open intervals of λ in [0, 1] where λ x_k + (1 - λ) x_l lies in no disc of ``own``, in order.

    A disc around c of radius r holds x̃(λ) where |x_l - c + λ (x_k - x_l)|² ≤ r²: between two roots in λ.

    >>> two = Discs(np.array([[0.0, 0.0], [4.0, 0.0]]), np.array([1.0, 1.0]))
    >>> gaps(np.array([0.0, 0.0]), np.array([4.0, 0.0]), two)
    [(0.25, 0.75)]
    """
    along, start = x_k - x_l, x_l - own.centres
    a, b = float(along @ along), start @ along
    under = b * b - a * ((start * start).sum(1) - own.radii**2)
    met = under >= 0
    root = np.sqrt(under[met])
    covered = sorted(zip((-b[met] - root) / a, (-b[met] + root) / a, strict=True))
    found, reached = [], 0.0
    for enters, leaves in covered:
        if enters > reached:
            found.append((reached, min(float(enters), 1.0)))
        reached = max(reached, float(leaves))
        if reached >= 1:
            break
    if reached < 1:
        found.append((reached, 1.0))
    return [(low, high) for low, high in found if high > low]


def widest_gap(first: Discs, second: Discs) -> Gap | None:
    """The pair of disc centres of two classes whose mixes are outside for the longest stretch."""
    best: Gap | None = None
    classes = (first, second)
    for i, j in ((0, 1), (0, 0), (1, 1)):
        own = first if i == j == 0 else second if i == j else union(first, second)
        for x_k in classes[i].centres:
            for x_l in classes[j].centres:
                if (x_k == x_l).all():
                    continue
                for low, high in gaps(x_k, x_l, own):
                    gap = Gap(x_k, x_l, low, high, one_class=i == j)
                    if best is None or gap.promised > best.promised:
                        best = gap
    return best


def union(first: Discs, second: Discs) -> Discs:
    """Both classes as one."""
    return Discs(np.concatenate((first.centres, second.centres)), np.concatenate((first.radii, second.radii)))


def random_classes(random: np.random.Generator, discs: int = 3) -> tuple[Discs, Discs]:
    """Two classes of ``discs`` discs each in the unit square; the radii are shrunk until they are apart."""
    centres = random.random((2, discs, 2))
    radii = random.uniform(0.02, 0.4, (2, discs))
    apart = np.linalg.norm(centres[0][:, None] - centres[1][None], axis=2)
    touching = apart / (radii[0][:, None] + radii[1][None])
    radii = radii * min(1.0, 0.95 * float(touching.min()))
    return Discs(centres[0], radii[0]), Discs(centres[1], radii[1])
