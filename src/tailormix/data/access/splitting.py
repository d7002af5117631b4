"""Seeded splits that cannot overlap, and the fingerprint that records them."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import torch

from tailormix import checks

if TYPE_CHECKING:
    from torch import Tensor


def fingerprint(ids: Tensor) -> str:
    """SHA-256 of the ids, as little-endian 64-bit integers.

    >>> fingerprint(torch.tensor([0, 1]))[:12]
    '9d34149fbd1f'
    """
    return hashlib.sha256(ids.to("cpu", torch.int64).numpy().astype("<i8").tobytes()).hexdigest()


def hold_out(n: int, size: int, seed: int, labels: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Cut {0 … n - 1} into (kept, held), both in increasing order, ``size`` of them held.

    One seeded order of the rows is cut in two, so nothing can be in both parts. With ``labels`` (n,) each
    class gives its share: ⌊size · n_c / n⌋, and the classes with the largest remainders one more.

    >>> kept, held = hold_out(6, 2, seed=0, labels=torch.tensor([0, 0, 0, 1, 1, 1]))
    >>> len(kept), (held < 3).sum().item()
    (4, 1)
    """
    checks.integer("size", size, at_least=0)
    if size > n:
        raise ValueError(f"size must be <= {n} rows, got {size}")
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    if labels is None:
        chosen = torch.arange(n) < size
    else:
        order = order[torch.argsort(labels[order], stable=True)]  # class by class, shuffled within each
        _, counts = torch.unique(labels, return_counts=True)
        starts = counts.cumsum(0) - counts
        rank = torch.arange(n) - torch.repeat_interleave(starts, counts)
        chosen = rank < torch.repeat_interleave(_shares(counts, size), counts)
    return order[~chosen].sort().values, order[chosen].sort().values


def share(name: str, value: float, n: int) -> int:
    """Return the number of rows that a fraction of n stands for.

    >>> share("validation", 0.1, 50_000)
    5000
    """
    return round(checks.fraction(name, value) * n)


def _shares(counts: Tensor, size: int) -> Tensor:
    """Largest-remainder shares of ``size`` in proportion to ``counts``, in whole-number arithmetic."""
    n = max(int(counts.sum()), 1)
    whole, rest = counts * size // n, counts * size % n
    missing = size - int(whole.sum())
    whole[torch.argsort(rest, descending=True, stable=True)[:missing]] += 1
    return whole
