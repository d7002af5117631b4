"""Bins of confidences, over all classes and for each class.

Bin b of B holds b/B ≤ p < (b + 1)/B; the last bin also holds p = 1. A bin's sums are (count, Σ confidence,
Σ event).

Of C probabilities in a row at most B reach the second bin, so only those are looked at one by one. The
first bin is what is left: column sums and class counts, less the rest.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch

from tailormix import checks

if TYPE_CHECKING:
    from tailormix.metrics.weighting import Groups


NORMS = ("l1", "l2", "max")


def edges(n_bins: int, like: torch.Tensor) -> torch.Tensor:
    """Return the inner edges 1/B … (B − 1)/B in the type of ``like``: a written 0.7 lies on the edge 0.7.

    >>> edges(4, torch.zeros(1))
    tensor([0.2500, 0.5000, 0.7500])
    """
    checks.integer("n_bins", n_bins, at_least=1)
    return (torch.arange(1, n_bins, dtype=torch.float64, device=like.device) / n_bins).to(like.dtype)


def bin_index(confidence: torch.Tensor, n_bins: int) -> torch.Tensor:
    """Return the bin of each confidence.

    >>> bin_index(torch.tensor([0.0, 0.25, 1.0]), 4)
    tensor([0, 1, 3])
    """
    return torch.bucketize(confidence.contiguous(), edges(n_bins, confidence), right=True)


def bin_sums(confidence: torch.Tensor, event: torch.Tensor, n_bins: int) -> torch.Tensor:
    """Return (B, 3) sums of (1, confidence, event) in float64.

    >>> bin_sums(torch.tensor([0.1, 0.9, 1.0]), torch.tensor([0.0, 1.0, 1.0]), 2).tolist()
    [[1.0, 0.10000000149011612, 0.0], [2.0, 1.899999976158142, 2.0]]
    """
    index = bin_index(confidence, n_bins)
    rows = torch.stack([torch.ones_like(confidence), confidence, event], dim=1).double()
    return rows.new_zeros(n_bins, 3).index_add_(0, index, rows)


def shares_and_gaps(sums: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return each bin's share of the samples and |accuracy − confidence|; an empty bin has share 0 and gap 0.

    Works on any leading shape: (..., B, 3) gives two tensors (..., B).
    """
    count, confidence, event = sums.unbind(-1)
    share = count / count.sum(-1, keepdim=True)
    return share, (event - confidence).abs() / count.clamp_min(1e-12)


def calibration_error(sums: torch.Tensor, norm: str) -> torch.Tensor:
    """Σ_b share_b gap_b (l1), √Σ_b share_b gap_b² (l2) or max_b gap_b (max): (..., B, 3) → (...).

    >>> calibration_error(torch.tensor([[2.0, 0.4, 1.0], [2.0, 1.8, 2.0]]), "l1")
    tensor(0.2000)
    """
    checks.known("norm", norm, NORMS)
    share, gap = shares_and_gaps(sums)
    if norm == "max":
        return gap.amax(-1)
    return (share * gap).sum(-1) if norm == "l1" else (share * gap.square()).sum(-1).sqrt()


def debiased_error(sums: torch.Tensor) -> torch.Tensor:
    """√max(0, Σ_b share_b [gap_b² − a_b (1 − a_b)/(n_b − 1)]), a_b the accuracy: (..., B, 3) → (...).

    The subtracted term estimates the noise in gap_b²; a bin of one sample has no such estimate and keeps
    its gap.
    """
    share, gap = shares_and_gaps(sums)
    count, _, event = sums.unbind(-1)
    accuracy = event / count.clamp_min(1e-12)
    noise = accuracy * (1 - accuracy) / (count - 1).clamp_min(1e-12)
    squared = share * (gap.square() - torch.where(count > 1, noise, 0.0))
    return squared.sum(-1).clamp_min(0).sqrt()


Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]
Places = np.ndarray[tuple[int], np.dtype[np.int64]]
_EIGHT = np.arange(8)


class Growing:
    """A one-dimensional tensor that grows by doubling: few allocations, whatever number of pieces comes."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.store, self.size = torch.empty(0, dtype=dtype), 0

    def append(self, values: torch.Tensor) -> None:
        """Add values at the end."""
        size = self.size + len(values)
        if size > len(self.store):
            new = torch.empty(max(1024, 2 * size), dtype=self.store.dtype, device=values.device)
            new[: self.size] = self.values
            self.store = new
        self.store[self.size : size] = values
        self.size = size

    @property
    def values(self) -> torch.Tensor:
        """Everything added so far."""
        return self.store[: self.size]


@dataclass(eq=False)
class ClasswiseTable:
    """Collect, chunk by chunk, what class-wise calibration needs of n predictions over C classes.

    Column sums are kept for each of the ``groups`` that the bootstrap draws, (units, C); without groups
    there is one for all.
    """

    num_classes: int
    n_bins: int
    groups: Groups | None = None
    rows_seen: int = 0
    place: Growing = field(default_factory=lambda: Growing(torch.long))
    value: Growing = field(default_factory=lambda: Growing(torch.float64))
    targets: Growing = field(default_factory=lambda: Growing(torch.long))
    totals: torch.Tensor | None = None
    dtype: torch.dtype = torch.float32

    def __post_init__(self) -> None:
        checks.integer("n_bins", self.n_bins, at_least=1)

    def add(self, probabilities: torch.Tensor, targets: torch.Tensor) -> None:
        """Take in a chunk (r, C) of probabilities and its targets (r,)."""
        place, value = large_entries(probabilities, _second_bin(self.n_bins, probabilities.dtype))
        place += self.rows_seen * self.num_classes
        self.place.append(place)
        self.value.append(value)  # float64 holds float32 exactly, so bins can still be found in the old type
        self.targets.append(targets)
        self.dtype = probabilities.dtype
        self._add_totals(probabilities)
        self.rows_seen += len(targets)

    def _add_totals(self, probabilities: torch.Tensor) -> None:
        if self.totals is None:
            units = 1 if self.groups is None else self.groups.units
            self.totals = probabilities.new_zeros(units, self.num_classes, dtype=torch.float64)
        if self.groups is None:
            self.totals[0] += column_sums(probabilities)
        else:
            rows = self.groups.index[self.rows_seen : self.rows_seen + len(probabilities)]
            self.totals.index_add_(0, rows, probabilities.double())

    def entries(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return (sample, class · B + bin, probability, event) of every probability beyond the first bin."""
        place, value = self.place.values, self.value.values
        row = place // self.num_classes
        label = place - row * self.num_classes
        event = (self.targets.values[row] == label).double()
        return row, label * self.n_bins + bin_index(value.to(self.dtype), self.n_bins), value, event

    def sums(self) -> torch.Tensor:
        """Return (C, B, 3) sums of (1, probability, event)."""
        assert self.totals is not None
        _, cell, value, event = self.entries()
        table = self.totals.new_zeros(self.num_classes * self.n_bins, 3)
        table.index_add_(0, cell, torch.stack([torch.ones_like(value), value, event], dim=1))
        table = table.view(self.num_classes, self.n_bins, 3)
        count = torch.bincount(self.targets.values, minlength=self.num_classes).to(table)
        every = torch.stack([torch.full_like(count, self.rows_seen), self.totals.sum(0), count], dim=1)
        table[:, 0] = every - table[:, 1:].sum(1)
        return table


def column_sums(values: torch.Tensor) -> torch.Tensor:
    """Return Σ over the rows; on a CPU as a product with ones, which is the fastest way down the columns.

    >>> column_sums(torch.ones(3, 2))
    tensor([3., 3.])
    """
    if values.device.type != "cpu":
        return values.sum(0)
    array = values.numpy()
    return torch.from_numpy(np.ones(len(array), array.dtype) @ array)


@functools.cache
def _second_bin(n_bins: int, dtype: torch.dtype) -> float:
    """Where the second bin starts; with one bin nothing leaves the first."""
    return float(edges(n_bins, torch.empty(0, dtype=dtype))[0]) if n_bins > 1 else 2.0


def large_entries(values: torch.Tensor, threshold: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return where flattened ``values`` are ≥ ``threshold``, and those values.

    >>> large_entries(torch.tensor([[0.1, 0.9], [0.6, 0.4]]), 0.5)
    (tensor([1, 2]), tensor([0.9000, 0.6000]))
    """
    if values.device.type != "cpu":
        flat = values.reshape(-1)
        place = torch.nonzero(flat >= threshold)[:, 0]
        return place, flat[place]
    array = values.numpy().reshape(-1)
    found = _flat_nonzero(array >= array.dtype.type(threshold))
    return torch.from_numpy(found), torch.from_numpy(array.take(found))


def _flat_nonzero(mask: Mask) -> Places:
    """Where ``mask`` holds; eight entries at a time, since nearly all are false."""
    if len(mask) % 8:
        return np.flatnonzero(mask)
    words = np.flatnonzero(mask.view(np.uint64) != 0)
    near = np.add.outer(words * 8, _EIGHT).reshape(-1)
    return near.compress(mask.take(near))
