"""Errors and calibration errors of predicted means and standard deviations.

The released evaluation passes one array of two rows, the means and the standard deviations, to a library
that takes an array for stochastic forward passes. It therefore sees the mean (μ + s)/2 and the variance ((μ
− s)/2)², and the result is in essence a binned bias. Use these only to compare with published numbers.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from tailormix import checks
from tailormix.checks import readable
from tailormix.metrics.inputs import Regressed, regressed

if TYPE_CHECKING:
    from tailormix.metrics.inputs import Array


def rmse(mean: Array, targets: Array) -> float:
    """√((1/N) Σ (y − μ)²) over all N = n·D entries of (n,) or (n, D) arrays.

    >>> rmse(torch.tensor([0.0, 0.0]), torch.tensor([3.0, 4.0])) == 12.5**0.5
    True
    """
    return float(squared_parts(regressed(mean, targets))[:, 0].mean().sqrt())


def mae(mean: Array, targets: Array) -> float:
    """(1/N) Σ |y − μ|.

    >>> mae(torch.tensor([0.0, 0.0]), torch.tensor([3.0, -4.0]))
    3.5
    """
    return float(absolute_parts(regressed(mean, targets))[:, 0].mean())


def mape(mean: Array, targets: Array) -> float:
    """100 · mean of |y − μ|/|y| over the entries with y ≠ 0, in percent.

    >>> mape(torch.tensor([1.0, 5.0]), torch.tensor([2.0, 0.0]))
    50.0
    """
    total, count = relative_parts(regressed(mean, targets)).sum(0)
    if readable(count) and float(count) == 0:
        raise ValueError("targets must hold an entry other than 0 for MAPE, got none")
    return float(total / count)


def squared_parts(given: Regressed) -> torch.Tensor:
    """Return (n, 2): each sample's mean squared error over its outputs, and 1."""
    return with_one(given.error.square().mean(1))


def absolute_parts(given: Regressed) -> torch.Tensor:
    """Return (n, 2): each sample's mean absolute error over its outputs, and 1."""
    return with_one(given.error.abs().mean(1))


def relative_parts(given: Regressed) -> torch.Tensor:
    """Return (n, 2): each sample's sum of relative errors in percent, and how many entries are not 0."""
    valid = given.targets != 0
    relative = torch.where(valid, given.error.abs() / given.targets.abs().where(valid, 1.0), 0.0)
    return torch.stack([100 * relative.sum(1), valid.double().sum(1)], dim=1)


def with_one(values: torch.Tensor) -> torch.Tensor:
    """Return (n, 2): each value and its weight 1, so that the quotient of the sums is the mean."""
    return torch.stack([values, torch.ones_like(values)], dim=1)


def gaussian_nll(mean: Array, std: Array, targets: Array) -> float:
    """(1/N) Σ [½ log(2πσ²) + (y − μ)²/(2σ²)] over all entries; every σ must be > 0.

    >>> round(gaussian_nll(torch.tensor([0.0]), torch.tensor([1.0]), torch.tensor([0.0])), 6)
    0.918939
    """
    return float(gaussian_parts(regressed(mean, targets, std))[:, 0].mean())


def coverage(mean: Array, std: Array, targets: Array, *, level: float = 0.95) -> float:
    """Share of entries with |y − μ| ≤ z σ, where ±z holds ``level`` of a standard normal.

    >>> coverage(torch.tensor([0.0, 0.0]), torch.tensor([1.0, 1.0]), torch.tensor([1.9, 2.0]))
    0.5
    """
    return float(coverage_parts(regressed(mean, targets, std), level)[:, 0].mean())


def gaussian_parts(given: Regressed) -> torch.Tensor:
    """Return (n, 2): each sample's mean negative log-likelihood over its outputs, and 1."""
    variance = given.spread.square()
    if readable(variance) and bool((variance == 0).any()):
        raise ValueError(
            f"std must be > 0 for the Gaussian NLL, got 0 at {int((variance == 0).sum())} entries"
        )
    return with_one((0.5 * (2 * math.pi * variance).log() + given.error.square() / (2 * variance)).mean(1))


def coverage_parts(given: Regressed, level: float = 0.95) -> torch.Tensor:
    """Return (n, 2): the share of each sample's outputs inside the interval, and 1."""
    if not 0 < checks.number("level", level) < 1:
        raise ValueError(f"level must lie in (0, 1), got {level}")
    width = float(torch.special.ndtri(torch.tensor((1 + level) / 2, dtype=torch.float64)))
    return with_one((given.error.abs() <= width * given.spread).double().mean(1))


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


def uce_as_published(
    mean: Array, std: Array, targets: Array, *, n_bins: int = 15, bin_by: str = "variance"
) -> float:
    """``uce`` of the mean (μ + s)/2 and the standard deviation |μ − s|/2.

    >>> import torch
    >>> uce_as_published(torch.tensor([4.0]), torch.tensor([2.0]), torch.tensor([4.0]))
    0.0
    """
    return uce(*two_row_reading(mean, std, targets), n_bins=n_bins, bin_by=bin_by)


def ence_as_published(
    mean: Array, std: Array, targets: Array, *, n_bins: int = 15, bin_by: str = "std"
) -> float:
    """``ence`` of the mean (μ + s)/2 and the standard deviation |μ − s|/2.

    >>> import torch
    >>> ence_as_published(torch.tensor([4.0]), torch.tensor([2.0]), torch.tensor([5.0]))
    1.0
    """
    return ence(*two_row_reading(mean, std, targets), n_bins=n_bins, bin_by=bin_by)


def two_row_reading(
    mean: Array, std: Array, targets: Array
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return (mean, std, targets) as the two-row reading sees them."""
    given = regressed(mean, targets, std)
    return (given.mean + given.spread) / 2, (given.mean - given.spread).abs() / 2, given.targets
