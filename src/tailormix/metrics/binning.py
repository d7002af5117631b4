"""Bins of confidences, and calibration errors as functions of the sums in each bin.

Sums are (..., B, 3) in float64: how many samples a bin holds, the sum of their confidences, and how many of
the predicted events happened. They add up over batches, over ranks and over resampled rows.
"""

from __future__ import annotations

import torch

from tailormix import checks

NORMS = ("l1", "l2", "max")
CHUNK_ROWS = 2**17


def bin_index(confidence: torch.Tensor, n_bins: int) -> torch.Tensor:
    """Return the bin of each confidence: bin b of B holds b/B ≤ p < (b + 1)/B, the last one also p = 1.

    Edges have the type of the confidence, so that a written 0.7 lies on the edge 0.7.

    >>> bin_index(torch.tensor([0.0, 0.25, 1.0]), 4)
    tensor([0, 1, 3])
    """
    checks.integer("n_bins", n_bins, at_least=1)
    edges = torch.arange(1, n_bins, dtype=torch.float64, device=confidence.device) / n_bins
    return torch.bucketize(confidence.contiguous(), edges.to(confidence.dtype), right=True)


def sums_by_index(index: torch.Tensor, *columns: torch.Tensor, size: int) -> torch.Tensor:
    """Return (size, k) sums of k columns, each entry added at its index; all have the shape of ``index``.

    >>> sums_by_index(torch.tensor([0, 2, 2]), torch.tensor([1.0, 2.0, 3.0]), size=3)[:, 0].tolist()
    [1.0, 0.0, 5.0]
    """
    sums = torch.zeros(size, len(columns), dtype=torch.float64, device=index.device)
    for number, column in enumerate(columns):
        sums[:, number].index_add_(0, index.reshape(-1), column.reshape(-1).double())
    return sums


def bin_sums(confidence: torch.Tensor, outcome: torch.Tensor, n_bins: int) -> torch.Tensor:
    """Return (B, 3) sums of (1, confidence, outcome) over bins of equal width.

    >>> bin_sums(torch.tensor([0.25, 0.75, 1.0]), torch.tensor([0.0, 1.0, 1.0]), 2).tolist()
    [[1.0, 0.25, 0.0], [2.0, 1.75, 2.0]]
    """
    index = bin_index(confidence, n_bins)
    return sums_by_index(index, torch.ones_like(confidence), confidence, outcome, size=n_bins)


class EqualMassBins:
    """B bins that hold the same number of the given confidences, up to one.

    The first n mod B bins get one sample more; with n < B some are empty. Samples with the same confidence
    are shared by the bins that they reach, so the order of the samples never matters.
    """

    def __init__(self, confidence: torch.Tensor, n_bins: int) -> None:
        checks.integer("n_bins", n_bins, at_least=1)
        self.sorted = confidence.double().sort().values
        size, longer = divmod(len(confidence), n_bins)
        number = torch.arange(n_bins + 1, dtype=torch.float64, device=confidence.device)
        self.ends = number * size + number.clamp_max(longer)  # n = 17, B = 5: 0, 4, 8, 11, 14, 17

    def sums(self, confidence: torch.Tensor, outcome: torch.Tensor) -> torch.Tensor:
        """Return (B, 3) sums of (1, confidence, outcome) of some of the confidences that made the bins.

        >>> EqualMassBins(torch.tensor([0.6, 0.9]), 2).sums(torch.tensor([0.9]), torch.tensor([1.0]))[:, 0]
        tensor([0., 1.], dtype=torch.float64)
        """
        total = self.ends.new_zeros(len(self.ends) - 1, 3)
        columns = torch.stack([torch.ones_like(confidence), confidence, outcome], dim=1).double()
        for start in range(0, len(columns), CHUNK_ROWS):
            chunk = columns[start : start + CHUNK_ROWS]
            total += self._shares(chunk[:, 1].contiguous()).T @ chunk
        return total

    def _shares(self, confidence: torch.Tensor) -> torch.Tensor:
        """Return (n, B): how much of each sample lies in each bin."""
        first = torch.searchsorted(self.sorted, confidence)[:, None]
        last = torch.searchsorted(self.sorted, confidence, right=True)[:, None]
        overlap = torch.minimum(last, self.ends[1:]) - torch.maximum(first, self.ends[:-1])
        return overlap.clamp_min(0) / (last - first)


def calibration_error(sums: torch.Tensor, norm: str = "l1") -> torch.Tensor:
    """Σ_b share_b gap_b (l1), √Σ_b share_b gap_b² (l2) or max_b gap_b (max): (..., B, 3) → (...).

    >>> calibration_error(torch.tensor([[2.0, 0.4, 1.0], [2.0, 1.8, 2.0]]), "l1")
    tensor(0.2000)
    """
    checks.known("norm", norm, NORMS)
    share, gap = _shares_and_gaps(sums)
    if norm == "max":
        return gap.amax(-1)
    return (share * gap).sum(-1) if norm == "l1" else (share * gap.square()).sum(-1).sqrt()


def classwise_error(sums: torch.Tensor, norm: str = "l1") -> torch.Tensor:
    """Return the mean over classes of each one's calibration error: (..., C, B, 3) → (...)."""
    return calibration_error(sums, norm).mean(-1)


def debiased_error(sums: torch.Tensor) -> torch.Tensor:
    """√max(0, Σ_b share_b [gap_b² − a_b (1 − a_b)/(n_b − 1)]), a_b the accuracy: (..., B, 3) → (...).

    The subtracted term estimates the noise in gap_b². A bin of one sample has no such estimate and keeps
    its gap.
    """
    share, gap = _shares_and_gaps(sums)
    count, _, outcome = sums.unbind(-1)
    accuracy = outcome / count.clamp_min(1e-12)
    noise = accuracy * (1 - accuracy) / (count - 1).clamp_min(1e-12)
    squared = share * (gap.square() - torch.where(count > 1, noise, 0.0))
    return squared.sum(-1).clamp_min(0).sqrt()


def selective_risk(sums: torch.Tensor) -> torch.Tensor:
    """(1/n) Σ_i R_i, R_i the error rate of the i most confident samples: (..., B, 3) → (...).

    Samples of one bin share their errors evenly, so that their order does not matter: in a bin with the error
    rate e, after a samples with E errors, R_{a+j} = e + (E - a e) / (a + j).

    >>> selective_risk(torch.tensor([[1.0, 0.6, 0.0], [1.0, 0.9, 1.0]]))  # the surer one is right
    tensor(0.2500)
    """
    count, _, outcome = sums.flip(-2).unbind(-1)
    errors = count - outcome
    before, errors_before = count.cumsum(-1) - count, errors.cumsum(-1) - errors
    rate = errors / count.clamp_min(1e-12)
    inverses = torch.digamma(before + count + 1) - torch.digamma(before + 1)  # Σ_j 1 / (a + j)
    return (rate * count + (errors_before - before * rate) * inverses).sum(-1) / count.sum(-1)


def _shares_and_gaps(sums: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return each bin's share of the samples and |accuracy − confidence|; empty bins have share and gap 0."""
    count, confidence, outcome = sums.unbind(-1)
    share = count / count.sum(-1, keepdim=True)
    return share, (outcome - confidence).abs() / count.clamp_min(1e-12)
