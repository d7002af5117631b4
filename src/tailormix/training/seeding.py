"""Seeds of every stream of random numbers, and the order of samples.

Every draw of a training step depends on the run's seed, what it is for, the epoch, the step and the rank, and
on nothing that happened before. A checkpoint therefore holds the position alone.
"""

from __future__ import annotations

import enum
import hashlib
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor


class Stream(enum.IntEnum):
    """What a random number is for: streams never share a seed."""

    WEIGHTS = 1
    ORDER = 2
    AUGMENTATION = 3
    STEP = 4
    POOL = 5
    DROPOUT = 6
    BANK = 7


def derive(seed: int, stream: Stream, *position: int) -> int:
    """Seed of one stream at one position: 63 bits of a hash, equal on every machine.

    >>> derive(0, Stream.ORDER, 1) == derive(0, Stream.ORDER, 1) != derive(0, Stream.STEP, 1)
    True
    """
    packed = struct.pack(f"<{2 + len(position)}q", seed, stream, *position)
    return int.from_bytes(hashlib.blake2b(packed, digest_size=8).digest(), "little") >> 1


def reseed(value: int, device: torch.device) -> None:
    """Seed torch's generators of the CPU and of ``device``, and no other; mixing and dropout use them."""
    torch.default_generator.manual_seed(value)
    if device.type != "cpu":
        torch.get_device_module(device).manual_seed(value)


@dataclass(frozen=True)
class Sampler:
    """A new permutation of ``rows`` per epoch, cut into global batches that the ranks share.

    The shares of 256 rows over 3 ranks are 86, 85 and 85 rows. A last batch with fewer rows than there are
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
        """Steps per epoch."""
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
        """The rows of each step from ``first`` on for this rank, with the seed of their augmentation."""
        return [
            (
                share(rows, self.rank, self.ranks),
                derive(self.seed, Stream.AUGMENTATION, epoch, step, self.rank),
            )
            for step, rows in enumerate(self.batches(epoch)[first:], start=first)
        ]

    def weight(self, step: int) -> float:
        """What this rank's mean loss must be multiplied by, so that the ranks' average is the global mean."""
        total = min(self.batch, self.rows - step * self.batch)
        mine = total // self.ranks + (self.rank < total % self.ranks)
        return mine * self.ranks / total


def share(rows: Tensor, rank: int, ranks: int) -> Tensor:
    """A rank's share of a global batch: shares differ by one row at most, the first ones being longer.

    >>> [len(share(torch.arange(256), rank, 3)) for rank in range(3)]
    [86, 85, 85]
    """
    return rows if ranks == 1 else rows.tensor_split(ranks)[rank]
