"""Equal-width bins on [0, 1], closed at 1.0, and what is computed from their sums.

Bin b of B holds b/B ≤ p < (b + 1)/B; the last bin also holds p = 1. A bin's sums are (count, Σ confidence,
Σ event).
"""

from __future__ import annotations

import torch

from tailormix import checks

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
