"""Calibration error with the noise of its bins taken off (Kumar, Liang and Ma 2019)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailormix.metrics.bins import bin_sums, debiased_error
from tailormix.metrics.inputs import classified
from tailormix.metrics.rows import rows

if TYPE_CHECKING:
    from tailormix.metrics.inputs import Array


def debiased_ece(
    predictions: Array,
    targets: Array,
    *,
    from_logits: bool = False,
    n_bins: int = 15,
    binary: str | None = None,
) -> float:
    """√max(0, Σ_b (n_b/n) [(acc_b − conf_b)² − acc_b (1 − acc_b)/(n_b − 1)]), an l2 error.

    The plain ``ece`` of a calibrated model is positive, since every bin's accuracy is noisy. Here that
    noise is estimated and subtracted. Bins of one sample keep their gap.

    >>> import torch
    >>> debiased_ece(torch.tensor([[0.5, 0.5]]).repeat(4, 1), torch.tensor([0, 1, 0, 1]))
    0.0
    """
    found = rows(classified(predictions, targets, from_logits=from_logits, binary=binary))
    return float(debiased_error(bin_sums(found.confidence, found.event, n_bins)))
