"""Toy problems in the plane: drawn points, cut into splits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import torch

from tailormix import checks

from .assemble import three_ways
from .memory import MemorySplit
from .record import DataSplits, Setting

if TYPE_CHECKING:
    from collections.abc import Callable

#: the paper's figures: 100 points of seed 0, 30 of them held out with seed 42
_PUBLISHED_POINTS, _PUBLISHED_SEED, _PUBLISHED_SPLIT = 100, 0, 42


def toy_splits(
    name: str, draw: Callable[[int, int], Any], seed: int, protocol: Setting, n: int
) -> DataSplits:
    """Split the points ``draw(n, seed)`` 60 : 20 : 20, or as the paper's figures do; nothing is scaled."""
    checks.known("protocol", protocol, get_args(Setting))
    checks.integer("n", n, at_least=10)
    published = protocol == "as-published"
    points, labels = draw(_PUBLISHED_POINTS, _PUBLISHED_SEED) if published else draw(n, seed)
    x, y = torch.from_numpy(points).float(), torch.from_numpy(labels).long()
    rows = _published_rows(len(y)) if published else three_ways(len(y), seed, 0.2, 0.2, y)
    train, validation, test = (MemorySplit(x[part], y[part], part) for part in rows)
    return DataSplits(name, "classification", train, validation, test, 2, ("0", "1"))


def _published_rows(n: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    from sklearn.model_selection import train_test_split

    train, test = train_test_split(torch.arange(n).numpy(), test_size=0.3, random_state=_PUBLISHED_SPLIT)
    return torch.from_numpy(train), torch.arange(0), torch.from_numpy(test)
