"""Class-wise bins without touching every probability.

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
from tailormix.metrics.bins import bin_index, edges

if TYPE_CHECKING:
    from tailormix.metrics.groups import Groups

_EIGHT = np.arange(8)


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
    place: list[torch.Tensor] = field(default_factory=list)
    value: list[torch.Tensor] = field(default_factory=list)
    targets: list[torch.Tensor] = field(default_factory=list)
    totals: torch.Tensor | None = None

    def __post_init__(self) -> None:
        checks.integer("n_bins", self.n_bins, at_least=1)

    def add(self, probabilities: torch.Tensor, targets: torch.Tensor) -> None:
        """Take in a chunk (r, C) of probabilities and its targets (r,)."""
        flat = probabilities.reshape(-1)
        place = large_entries(flat, _second_bin(self.n_bins, probabilities.dtype))
        self.value.append(flat[place])
        self.place.append(place + self.rows_seen * self.num_classes)
        self.targets.append(targets)
        self._add_totals(probabilities)
        self.rows_seen += len(targets)

    def _add_totals(self, probabilities: torch.Tensor) -> None:
        if self.totals is None:
            units = 1 if self.groups is None else self.groups.units
            self.totals = probabilities.new_zeros(units, self.num_classes, dtype=torch.float64)
        if self.groups is None:
            self.totals[0] += probabilities.sum(0)
        else:
            rows = self.groups.index[self.rows_seen : self.rows_seen + len(probabilities)]
            self.totals.index_add_(0, rows, probabilities.double())

    def entries(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return (sample, class · B + bin, probability, event) of every probability beyond the first bin."""
        place, value = torch.cat(self.place), torch.cat(self.value)
        row = place // self.num_classes
        label = place - row * self.num_classes
        event = (torch.cat(self.targets)[row] == label).double()
        return row, label * self.n_bins + bin_index(value, self.n_bins), value.double(), event

    def sums(self) -> torch.Tensor:
        """Return (C, B, 3) sums of (1, probability, event)."""
        assert self.totals is not None
        _, cell, value, event = self.entries()
        table = self.totals.new_zeros(self.num_classes * self.n_bins, 3)
        table.index_add_(0, cell, torch.stack([torch.ones_like(value), value, event], dim=1))
        table = table.view(self.num_classes, self.n_bins, 3)
        count = torch.bincount(torch.cat(self.targets), minlength=self.num_classes).to(table)
        every = torch.stack([torch.full_like(count, self.rows_seen), self.totals.sum(0), count], dim=1)
        table[:, 0] = every - table[:, 1:].sum(1)
        return table


@functools.cache
def _second_bin(n_bins: int, dtype: torch.dtype) -> float:
    """Where the second bin starts; with one bin nothing leaves the first."""
    return float(edges(n_bins, torch.empty(0, dtype=dtype))[0]) if n_bins > 1 else 2.0


def large_entries(values: torch.Tensor, threshold: float) -> torch.Tensor:
    """Return where flat ``values`` are ≥ ``threshold``.

    >>> large_entries(torch.tensor([0.1, 0.9, 0.6, 0.4]), 0.5)
    tensor([1, 2])
    """
    if values.device.type != "cpu":
        return torch.nonzero(values >= threshold)[:, 0]
    array = values.numpy()
    return torch.from_numpy(_flat_nonzero(array >= array.dtype.type(threshold)))


def _flat_nonzero(
    mask: np.ndarray[tuple[int], np.dtype[np.bool_]],
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Where ``mask`` holds; eight entries at a time, since nearly all are false."""
    whole = len(mask) // 8 * 8
    words = np.flatnonzero(mask[:whole].view(np.uint64))
    near = (words[:, None] * 8 + _EIGHT).reshape(-1)
    return np.concatenate([near[mask[near]], whole + np.flatnonzero(mask[whole:])])
