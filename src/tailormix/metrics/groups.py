"""What the bootstrap draws: single points or, where there are very many, random groups of them.

Sums over random groups are as independent as single points are, so drawing groups gives the same intervals,
up to the noise of having fewer units, at a cost that no longer grows with n.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

MOST_UNITS = 20_000


@dataclass(frozen=True, eq=False)
class Groups:
    """``index`` (n,) says to which of ``units`` groups a point belongs."""

    index: torch.Tensor
    units: int

    @property
    def single(self) -> bool:
        """Whether every point is a unit of its own."""
        return self.units == len(self.index)

    def sums(self, values: torch.Tensor) -> torch.Tensor:
        """Return (units, K) sums of values (n, K)."""
        if self.single:
            return values
        return values.new_zeros(self.units, values.shape[1]).index_add_(0, self.index, values)


def resampling_groups(n: int, *, most: int | None = None, seed: int = 0, copies: int = 1) -> Groups:
    """Return groups of n points; ``copies`` of the points follow each other and have groups of their own.

    >>> resampling_groups(3, copies=2).index
    tensor([0, 1, 2, 3, 4, 5])
    """
    units = min(n, MOST_UNITS if most is None else most)
    index = torch.arange(n)
    if units < n:
        index = torch.randperm(n, generator=torch.Generator().manual_seed(seed)) % units
    return Groups(torch.cat([index + copy * units for copy in range(copies)]), copies * units)
