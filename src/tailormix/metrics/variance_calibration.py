"""Is the predicted variance the squared error one sees? UCE and ENCE over equal-width bins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from tailormix import checks
from tailormix.kept import readable
from tailormix.metrics.regressed import Regressed, regressed

if TYPE_CHECKING:
    from tailormix.metrics.inputs import Array

BIN_BY = ("variance", "std")


def uce(mean: Array, std: Array, targets: Array, *, n_bins: int = 15, bin_by: str = "variance") -> float:
    """Σ_b (n_b/n) |MSE_b − MV_b|: mean squared error against mean predicted variance, averaged over outputs.

    The B bins have equal width between the smallest and the largest predicted variance (``bin_by="std"``:
    standard deviation) of each output; the last is closed. Empty bins contribute 0. Unit: that of y².

    >>> uce(torch.tensor([0.0, 0.0]), torch.tensor([1.0, 1.0]), torch.tensor([2.0, 2.0]))
    3.0
    """
    return float(uce_error(spread_sums(regressed(mean, targets, std), n_bins, bin_by)))


def ence(mean: Array, std: Array, targets: Array, *, n_bins: int = 15, bin_by: str = "std") -> float:
    """Mean over the bins of |√MSE_b − √MV_b|/√MV_b, averaged over outputs.

    Bins as in ``uce``, by default of the predicted standard deviation. Empty bins, and bins where the
    predicted variance is 0, are left out; an output without any other bin is an error.

    >>> ence(torch.tensor([0.0, 0.0]), torch.tensor([1.0, 1.0]), torch.tensor([2.0, 2.0]))
    1.0
    """
    sums = spread_sums(regressed(mean, targets, std), n_bins, bin_by)
    if readable(sums) and not bool((sums[..., 1] > 0).any(-1).all()):
        raise ValueError("std must be > 0 somewhere in every output for ENCE, got 0 everywhere")
    return float(ence_error(sums))


def spread_index(given: Regressed, n_bins: int, bin_by: str) -> torch.Tensor:
    """Return (n, D) bins of the predicted spread, between each output's smallest and largest."""
    checks.integer("n_bins", n_bins, at_least=1)
    checks.known("bin_by", bin_by, BIN_BY)
    value = (given.spread.square() if bin_by == "variance" else given.spread).T.contiguous()
    low, high = value.amin(1, keepdim=True), value.amax(1, keepdim=True)
    inner = low + (high - low) * torch.arange(1, n_bins, dtype=value.dtype, device=value.device) / n_bins
    index = torch.searchsorted(inner.contiguous(), value, right=True)
    return torch.where(high > low, index, 0).T  # one value only: one bin


def spread_values(given: Regressed) -> torch.Tensor:
    """Return (n, D, 3): 1, predicted variance, squared error."""
    variance = given.spread.square()
    return torch.stack([torch.ones_like(variance), variance, given.error.square()], dim=-1)


def spread_sums(given: Regressed, n_bins: int, bin_by: str) -> torch.Tensor:
    """Return (D, B, 3) sums of (1, variance, squared error)."""
    values = spread_values(given)
    outputs = values.shape[1]
    cell = spread_index(given, n_bins, bin_by) + n_bins * torch.arange(outputs, device=values.device)
    flat = values.new_zeros(outputs * n_bins, 3).index_add_(0, cell.reshape(-1), values.reshape(-1, 3))
    return flat.view(outputs, n_bins, 3)


def uce_error(sums: torch.Tensor) -> torch.Tensor:
    """Return UCE of bin sums: (..., D, B, 3) → (...)."""
    count, variance, squared = sums.unbind(-1)
    return ((squared - variance).abs().sum(-1) / count.sum(-1)).mean(-1)


def ence_error(sums: torch.Tensor) -> torch.Tensor:
    """Return ENCE of bin sums: (..., D, B, 3) → (...)."""
    _, variance, squared = sums.unbind(-1)
    used = variance > 0
    ratio = (squared.sqrt() / variance.where(used, 1.0).sqrt() - 1).abs()
    return (ratio.where(used, 0.0).sum(-1) / used.sum(-1)).mean(-1)
