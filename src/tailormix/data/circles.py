"""Two circles, one inside the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .access.toys import toy_splits

if TYPE_CHECKING:
    from .access.record import DataSplits, Setting


def load(
    seed: int,
    *,
    protocol: Setting = "clean",
    n: int = 500,
    noise: float = 0.1,
    factor: float = 0.5,
) -> DataSplits:
    """Draw ``n`` points of two circles of radii 1 and ``factor``; ``as-published`` is the paper's 70 + 30.

    >>> splits = load(0, protocol="as-published")
    >>> len(splits.train), len(splits.validation), len(splits.test)
    (70, 0, 30)
    """
    from sklearn.datasets import make_circles

    def draw(count: int, state: int) -> tuple[object, object]:
        points, labels = make_circles(count, noise=noise, factor=factor, random_state=state)
        return points, labels

    return toy_splits("circles", draw, seed, protocol, n)
