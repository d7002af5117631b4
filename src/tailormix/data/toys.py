"""Toy data in the plane: Moons and Circles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import torch

from tailormix import checks
from tailormix.data.preprocessing import ArrayPreprocessing
from tailormix.data.splits import DataSplits, MemorySplit, SplitProtocol, three_ways

if TYPE_CHECKING:
    from collections.abc import Callable


def load_moons(
    seed: int, *, protocol: SplitProtocol = "clean", n: int = 500, noise: float = 0.15
) -> DataSplits:
    """Draw ``n`` points of two half moons; ``as-published`` is the paper's 70 + 30 points.

    >>> splits = load_moons(0)
    >>> len(splits.train), len(splits.validation), len(splits.test)
    (300, 100, 100)
    """
    from sklearn.datasets import make_moons

    return _toy_splits(
        "moons", lambda n, seed: make_moons(n, noise=noise, random_state=seed), seed, protocol, n
    )


def load_circles(
    seed: int, *, protocol: SplitProtocol = "clean", n: int = 500, noise: float = 0.1, factor: float = 0.5
) -> DataSplits:
    """Draw ``n`` points of two circles of radii 1 and ``factor``; ``as-published`` is the paper's 70 + 30.

    >>> splits = load_circles(0, protocol="as-published")
    >>> len(splits.train), len(splits.validation), len(splits.test)
    (70, 0, 30)
    """
    from sklearn.datasets import make_circles

    return _toy_splits(
        "circles",
        lambda n, seed: make_circles(n, noise=noise, factor=factor, random_state=seed),
        seed,
        protocol,
        n,
    )


def _toy_splits(
    name: str, draw: Callable[[int, int], Any], seed: int, protocol: SplitProtocol, n: int
) -> DataSplits:
    """Split the points ``draw(n, seed)`` 60 : 20 : 20, or as the paper's figures do; nothing is scaled."""
    checks.known("protocol", protocol, get_args(SplitProtocol))
    checks.integer("n", n, at_least=10)
    published = protocol == "as-published"
    points, labels = draw(100, 0) if published else draw(n, seed)
    x, y = torch.from_numpy(points).float(), torch.from_numpy(labels).long()
    rows = _published_rows(len(y)) if published else three_ways(len(y), seed, 0.2, 0.2, y)
    train, validation, test = (MemorySplit(x[part], y[part], part) for part in rows)
    plain = ArrayPreprocessing((2,))
    return DataSplits(name, "classification", train, validation, test, 2, ("0", "1"), preprocessing=plain)


def _published_rows(n: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The split of the paper's figures: 30 % of the points for testing, drawn with seed 42."""
    from sklearn.model_selection import train_test_split

    train, test = train_test_split(torch.arange(n).numpy(), test_size=0.3, random_state=42)
    return torch.from_numpy(train), torch.arange(0), torch.from_numpy(test)
