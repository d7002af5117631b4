"""Calibration error of every class's probability, averaged over the classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailormix.metrics.bins import calibration_error
from tailormix.metrics.classwise import ClasswiseTable
from tailormix.metrics.inputs import classified
from tailormix.metrics.rows import read

if TYPE_CHECKING:
    import torch

    from tailormix.metrics.inputs import Array, Classified


def classwise_ece(
    predictions: Array,
    targets: Array,
    *,
    from_logits: bool = False,
    n_bins: int = 15,
    norm: str = "l1",
    binary: str | None = None,
) -> float:
    """(1/C) Σ_c Σ_b (n_bc/n) |freq_bc − prob_bc|: the bins of class c hold its probability in every row.

    With ``binary="positive"`` only class 1 counts. Classes that never occur count like any other.

    >>> import torch
    >>> round(classwise_ece(torch.tensor([[0.1, 0.9], [0.1, 0.9]]), torch.tensor([1, 1])), 6)
    0.1
    """
    given = classified(predictions, targets, from_logits=from_logits, binary=binary)
    return float(classwise_error(classwise_sums(given, n_bins), norm))


def classwise_sums(given: Classified, n_bins: int) -> torch.Tensor:
    """Return (C, B, 3) sums of (1, probability, event); (1, B, 3) where only the positive class is judged."""
    table = ClasswiseTable(given.num_classes, n_bins)
    read(given, tables=[table])
    return table.sums()[1:] if given.positive else table.sums()


def classwise_error(sums: torch.Tensor, norm: str = "l1") -> torch.Tensor:
    """Return the mean over classes of each one's calibration error: (..., C, B, 3) → (...)."""
    return calibration_error(sums, norm).mean(-1)
