"""Which rows make which step: a function of seed and position, shared out over the ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from .seeds import Stream, derive

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Sampler:
    """A fresh permutation of ``rows`` an epoch, cut into global batches, each shared out over the ranks.

    A rank's share of 256 rows over 3 ranks is 86, 85 and 85 rows. A last batch with fewer rows than there are
    ranks is left out, since every rank must take part in every step.

    >>> sampler = Sampler(rows=5, batch=2, seed=0)
    >>> sampler.steps, sorted(torch.cat([rows for rows, _ in sampler.plan(epoch=0)]).tolist())
    (3, [0, 1, 2, 3, 4])
    """

    rows: int
    batch: int
    seed: int
    drop_last: bool = False
    rank: int = 0
    ranks: int = 1

    def __post_init__(self) -> None:
        if self.batch < self.ranks:
            raise ValueError(f"batch must be >= {self.ranks}, the number of ranks, got {self.batch}")
        if self.steps < 1:
            raise ValueError(f"batch must be <= {self.rows}, the training rows, got {self.batch}")

    @property
    def steps(self) -> int:
        """Steps an epoch."""
        whole, rest = divmod(self.rows, self.batch)
        return whole + (rest >= self.ranks and rest > 0 and not self.drop_last)

    def order(self, epoch: int) -> Tensor:
        """The epoch's permutation of all rows, (rows,)."""
        generator = torch.Generator().manual_seed(derive(self.seed, Stream.ORDER, epoch))
        return torch.randperm(self.rows, generator=generator)

    def batches(self, epoch: int) -> tuple[Tensor, ...]:
        """All global batches of an epoch, as rows."""
        return torch.split(self.order(epoch), self.batch)[: self.steps]

    def plan(self, epoch: int, first: int = 0) -> list[tuple[Tensor, int]]:
        """Rows of each step from ``first`` on for this rank, each with the seed of its augmentation."""
        return [
            (
                share(rows, self.rank, self.ranks),
                derive(self.seed, Stream.AUGMENTATION, epoch, step, self.rank),
            )
            for step, rows in enumerate(self.batches(epoch)[first:], start=first)
        ]

    def weight(self, step: int) -> float:
        """What this rank's mean loss must be multiplied by, so that the ranks' average is the global mean."""
        if self.ranks == 1:
            return 1.0
        total = min(self.batch, self.rows - step * self.batch)
        mine = total // self.ranks + (self.rank < total % self.ranks)
        return mine * self.ranks / total


def share(rows: Tensor, rank: int, ranks: int) -> Tensor:
    """A rank's part of a global batch: parts differ by one row at most, the first ones being longer.

    >>> [len(share(torch.arange(256), rank, 3)) for rank in range(3)]
    [86, 85, 85]
    """
    return rows if ranks == 1 else rows.tensor_split(ranks)[rank]
