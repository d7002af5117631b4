"""Random numbers as a function of where a run is, so that going on from anywhere needs no stored state.

Every draw of a training step depends on the run's seed, what it is for, the epoch, the step and the rank, and
on nothing that happened before. A checkpoint therefore holds the position alone.
"""

from __future__ import annotations

import enum
import hashlib
import struct

import torch


class Stream(enum.IntEnum):
    """What a random number is for: streams never share a seed."""

    WEIGHTS = 1
    ORDER = 2
    AUGMENTATION = 3
    STEP = 4
    POOL = 5
    DROPOUT = 6
    AHEAD = 7


def derive(seed: int, stream: Stream, *position: int) -> int:
    """Seed of one stream at one position: 63 bits of a hash, equal on every machine.

    >>> derive(0, Stream.ORDER, 1) == derive(0, Stream.ORDER, 1) != derive(0, Stream.STEP, 1)
    True
    """
    packed = struct.pack(f"<{2 + len(position)}q", seed, stream, *position)
    return int.from_bytes(hashlib.blake2b(packed, digest_size=8).digest(), "little") >> 1


def reseed(value: int, device: torch.device) -> None:
    """Set torch's own generators of the CPU and of ``device``: dropout and mixing draw from them.

    ``torch.manual_seed`` would reach every backend, which costs more than a small training step.
    """
    torch.default_generator.manual_seed(value)
    if device.type == "cuda":
        torch.cuda.manual_seed(value)
