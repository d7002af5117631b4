"""Expected and maximum calibration error of the top label, over equal-width bins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailormix.metrics.bins import bin_sums, calibration_error
from tailormix.metrics.inputs import classified
from tailormix.metrics.rows import rows

if TYPE_CHECKING:
    from tailormix.metrics.inputs import Array


def ece(
    predictions: Array,
    targets: Array,
    *,
    from_logits: bool = False,
    n_bins: int = 15,
    norm: str = "l1",
    binary: str | None = None,
) -> float:
    """Σ_b (n_b/n) |acc_b − conf_b| over B equal-width bins of the confidence, the last closed at 1.0.

    ``norm="l2"`` is √Σ_b (n_b/n) (acc_b − conf_b)², ``"max"`` the largest gap. Empty bins contribute 0.
    ``predictions`` (n, C), or (n,) with ``binary="positive"`` (probability of class 1) or ``"top-label"``.

    >>> import torch
    >>> round(ece(torch.tensor([[0.2, 0.8], [0.2, 0.8]]), torch.tensor([1, 0])), 6)
    0.3
    """
    found = rows(classified(predictions, targets, from_logits=from_logits, binary=binary))
    return float(calibration_error(bin_sums(found.confidence, found.event, n_bins), norm))


def mce(
    predictions: Array,
    targets: Array,
    *,
    from_logits: bool = False,
    n_bins: int = 15,
    binary: str | None = None,
) -> float:
    """max_b |acc_b − conf_b| over the bins that hold a sample: ``ece`` with ``norm="max"``.

    >>> import torch
    >>> round(mce(torch.tensor([[0.1, 0.9], [0.4, 0.6]]), torch.tensor([1, 0])), 6)
    0.6
    """
    return ece(predictions, targets, from_logits=from_logits, n_bins=n_bins, norm="max", binary=binary)
