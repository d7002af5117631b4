"""Two interleaved half circles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .access.toys import toy_splits

if TYPE_CHECKING:
    from .access.record import DataSplits, Setting


def load(seed: int, *, protocol: Setting = "clean", n: int = 500, noise: float = 0.15) -> DataSplits:
    """Draw ``n`` points of two half moons; ``as-published`` is the paper's 70 + 30 points.

    >>> splits = load(0)
    >>> len(splits.train), len(splits.validation), len(splits.test)
    (300, 100, 100)
    """
    from sklearn.datasets import make_moons

    return toy_splits(
        "moons", lambda count, state: make_moons(count, noise=noise, random_state=state), seed, protocol, n
    )
