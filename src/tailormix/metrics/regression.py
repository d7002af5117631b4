"""Errors and calibration errors of predicted means and standard deviations.

``uce_as_published`` and ``ence_as_published`` repeat the released evaluation. It passes one array of two
rows, the means and the standard deviations, to a library that takes an array for stochastic forward passes.
That library sees the mean (μ + s)/2 and the variance ((μ − s)/2)², and the result is in essence a binned
bias. Use these two only to compare with published numbers.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from tailormix import checks
from tailormix.checks import readable
from tailormix.metrics.binning import sums_by_index
from tailormix.metrics.inputs import RegressionInputs, regression_inputs

if TYPE_CHECKING:
    from tailormix.metrics.inputs import Array


BIN_BY = ("variance", "std")
LEVELS = torch.arange(1, 20, dtype=torch.float64) / 20  # 0.05 … 0.95, as in the released evaluation


def rmse(mean: Array, targets: Array) -> float:
    """√((1/N) Σ (y − μ)²) over all N = n·D entries of (n,) or (n, D) arrays.

    >>> rmse(torch.tensor([0.0, 0.0]), torch.tensor([3.0, 4.0])) == 12.5**0.5
    True
    """
    return float(ratio(squared_sums(regression_inputs(mean, targets))).sqrt())


def mae(mean: Array, targets: Array) -> float:
    """(1/N) Σ |y − μ|.

    >>> mae(torch.tensor([0.0, 0.0]), torch.tensor([3.0, -4.0]))
    3.5
    """
    return float(ratio(absolute_sums(regression_inputs(mean, targets))))


def mape(mean: Array, targets: Array) -> float:
    """100 · mean of |y − μ|/|y| over the entries with y ≠ 0, in percent.

    >>> mape(torch.tensor([1.0, 5.0]), torch.tensor([2.0, 0.0]))
    50.0
    """
    sums = relative_sums(regression_inputs(mean, targets))
    if readable(sums) and float(sums[1]) == 0:
        raise ValueError("targets must hold an entry other than 0 for MAPE, got none")
    return float(ratio(sums))


def gaussian_nll(mean: Array, std: Array, targets: Array) -> float:
    """(1/N) Σ [½ log(2πσ²) + (y − μ)²/(2σ²)] over all entries; every σ must be > 0.

    >>> round(gaussian_nll(torch.tensor([0.0]), torch.tensor([1.0]), torch.tensor([0.0])), 6)
    0.918939
    """
    return float(ratio(gaussian_sums(regression_inputs(mean, targets, std))))


def pinball(mean: Array, std: Array, targets: Array) -> float:
    """Mean of ρ_q(y − F⁻¹(q)) over all entries and q = 0.05 … 0.95, with F⁻¹ the quantiles of N(μ, σ²).

    ρ_q(e) = q e for e ≥ 0 and (q − 1) e below. A proper score in the unit of y: twice its mean over all q
    would be the CRPS. For σ = 0 it is half the absolute error.

    >>> pinball(torch.tensor([0.0]), torch.tensor([0.0]), torch.tensor([3.0]))
    1.5
    """
    return float(ratio(pinball_sums(regression_inputs(mean, targets, std))))


def coverage(mean: Array, std: Array, targets: Array, *, level: float = 0.95) -> float:
    """Share of entries with |y − μ| ≤ z σ, where ±z holds ``level`` of a standard normal.

    >>> coverage(torch.tensor([0.0, 0.0]), torch.tensor([1.0, 1.0]), torch.tensor([1.9, 2.0]))
    0.5
    """
    return float(ratio(coverage_sums(regression_inputs(mean, targets, std), level)))


def uce(mean: Array, std: Array, targets: Array, *, n_bins: int = 15, bin_by: str = "variance") -> float:
    """Σ_b (n_b/n) |MSE_b − MV_b|: mean squared error against mean predicted variance, averaged over outputs.

    The B bins have equal width between the smallest and the largest predicted variance (``bin_by="std"``:
    standard deviation) of each output; the last is closed. Empty bins contribute 0. Unit: that of y².

    >>> uce(torch.tensor([0.0, 0.0]), torch.tensor([1.0, 1.0]), torch.tensor([2.0, 2.0]))
    3.0
    """
    inputs = regression_inputs(mean, targets, std)
    return float(uce_error(SpreadBins(inputs.std, n_bins, bin_by).sums(inputs)))


def ence(mean: Array, std: Array, targets: Array, *, n_bins: int = 15, bin_by: str = "std") -> float:
    """Mean over the bins of |√MSE_b − √MV_b|/√MV_b, averaged over outputs.

    Bins as in ``uce``, by default of the predicted standard deviation. Empty bins, and bins where the
    predicted variance is 0, are left out; an output without any other bin is an error.

    >>> ence(torch.tensor([0.0, 0.0]), torch.tensor([1.0, 1.0]), torch.tensor([2.0, 2.0]))
    1.0
    """
    inputs = regression_inputs(mean, targets, std)
    sums = SpreadBins(inputs.std, n_bins, bin_by).sums(inputs)
    if readable(sums) and not bool((sums[..., 1] > 0).any(-1).all()):
        raise ValueError("std must be > 0 somewhere in every output for ENCE, got 0 everywhere")
    return float(ence_error(sums))


def qce(mean: Array, std: Array, targets: Array, *, n_bins: int = 15) -> float:
    """Σ_b (n_b/n) |inside_b(q) − q|, averaged over q = 0.05 … 0.95 and over outputs.

    inside_b(q) is the share of bin b within the central interval that should hold the share q of targets. The
    bins are those of ``ence``: of the predicted standard deviation.

    >>> round(qce(torch.zeros(2), torch.ones(2), torch.full((2,), 9.0)), 6)  # never inside: the mean of q
    0.5
    """
    inputs = regression_inputs(mean, targets, std)
    return float(qce_error(SpreadBins(inputs.std, n_bins, "std").inside_sums(inputs)))


def uce_as_published(
    mean: Array, std: Array, targets: Array, *, n_bins: int = 15, bin_by: str = "variance"
) -> float:
    """``uce`` of the mean (μ + s)/2 and the standard deviation |μ − s|/2.

    >>> uce_as_published(torch.tensor([4.0]), torch.tensor([2.0]), torch.tensor([4.0]))
    0.0
    """
    seen = two_row_reading(regression_inputs(mean, targets, std))
    return uce(seen.mean, seen.std, seen.targets, n_bins=n_bins, bin_by=bin_by)


def ence_as_published(
    mean: Array, std: Array, targets: Array, *, n_bins: int = 15, bin_by: str = "std"
) -> float:
    """``ence`` of the mean (μ + s)/2 and the standard deviation |μ − s|/2.

    >>> ence_as_published(torch.tensor([4.0]), torch.tensor([2.0]), torch.tensor([5.0]))
    1.0
    """
    seen = two_row_reading(regression_inputs(mean, targets, std))
    return ence(seen.mean, seen.std, seen.targets, n_bins=n_bins, bin_by=bin_by)


def regression_summary(mean: Array, std: Array, targets: Array, *, n_bins: int = 15) -> dict[str, float]:
    """Return every regression metric by name.

    >>> regression_summary(torch.zeros(2), torch.ones(2), torch.ones(2))["rmse"]
    1.0
    """
    return {
        "rmse": rmse(mean, targets),
        "mae": mae(mean, targets),
        "mape": mape(mean, targets),
        "gaussian_nll": gaussian_nll(mean, std, targets),
        "pinball": pinball(mean, std, targets),
        "uce": uce(mean, std, targets, n_bins=n_bins),
        "ence": ence(mean, std, targets, n_bins=n_bins),
        "qce": qce(mean, std, targets, n_bins=n_bins),
        "coverage": coverage(mean, std, targets),
        "uce_as_published": uce_as_published(mean, std, targets, n_bins=n_bins),
        "ence_as_published": ence_as_published(mean, std, targets, n_bins=n_bins),
    }


def ratio(sums: torch.Tensor) -> torch.Tensor:
    """Return Σ a / Σ b of sums (..., 2)."""
    return sums[..., 0] / sums[..., 1]


def mean_sums(values: torch.Tensor) -> torch.Tensor:
    """Return (2,): the sum of (n,) values and n, whose ratio is the mean.

    >>> mean_sums(torch.tensor([1.0, 3.0]))
    tensor([4., 2.], dtype=torch.float64)
    """
    values = values.double()
    return torch.stack([values.sum(), torch.ones_like(values).sum()])


def squared_sums(inputs: RegressionInputs) -> torch.Tensor:
    """Return (2,): the sum of squared errors, averaged over the outputs, and n."""
    return mean_sums(inputs.error.square().mean(1))


def absolute_sums(inputs: RegressionInputs) -> torch.Tensor:
    """Return (2,): the sum of absolute errors, averaged over the outputs, and n."""
    return mean_sums(inputs.error.abs().mean(1))


def relative_sums(inputs: RegressionInputs) -> torch.Tensor:
    """Return (2,): the sum of relative errors in percent, and how many targets are not 0."""
    valid = inputs.targets != 0
    relative = inputs.error.abs() / inputs.targets.abs().where(valid, 1.0)
    return torch.stack([100 * relative.where(valid, 0.0).sum(), valid.double().sum()])


def gaussian_sums(inputs: RegressionInputs) -> torch.Tensor:
    """Return (2,): the sum of negative log-likelihoods, averaged over the outputs, and n."""
    variance = inputs.std.square()
    if readable(variance) and bool((variance == 0).any()):
        raise ValueError(
            f"std must be > 0 for the Gaussian NLL, got 0 at {int((variance == 0).sum())} entries"
        )
    nll = 0.5 * (2 * math.pi * variance).log() + inputs.error.square() / (2 * variance)
    return mean_sums(nll.mean(1))


def pinball_sums(inputs: RegressionInputs) -> torch.Tensor:
    """Return (2,): the sum of pinball losses, averaged over outputs and levels, and n."""
    total = torch.zeros_like(inputs.error)
    for level in LEVELS.to(inputs.error.device):
        beyond = inputs.error - torch.special.ndtri(level) * inputs.std
        total += torch.maximum(level * beyond, (level - 1) * beyond)
    return mean_sums(total.mean(1) / len(LEVELS))


def coverage_sums(inputs: RegressionInputs, level: float = 0.95) -> torch.Tensor:
    """Return (2,): the sum of the shares of outputs inside the interval, and n."""
    if not 0 < checks.number("level", level) < 1:
        raise ValueError(f"level must lie in (0, 1), got {level}")
    width = float(torch.special.ndtri(torch.tensor((1 + level) / 2, dtype=torch.float64)))
    return mean_sums((inputs.error.abs() <= width * inputs.std).double().mean(1))


class SpreadBins:
    """B bins of equal width between the smallest and the largest predicted spread of each output."""

    def __init__(self, std: torch.Tensor, n_bins: int, bin_by: str) -> None:
        self.n_bins = checks.integer("n_bins", n_bins, at_least=1)
        self.bin_by = checks.known("bin_by", bin_by, BIN_BY)
        spread = self._spread(std)
        self.low, self.high = spread.amin(1, keepdim=True), spread.amax(1, keepdim=True)

    def sums(self, inputs: RegressionInputs) -> torch.Tensor:
        """Return (D, B, 3) sums of (1, predicted variance, squared error)."""
        variance = inputs.std.square()
        return self._sums(inputs.std, torch.ones_like(variance), variance, inputs.error.square())

    def inside_sums(self, inputs: RegressionInputs) -> torch.Tensor:
        """Return (D, B, 1 + Q) sums of (1, [|y − μ| ≤ z_q σ] of each of the Q levels)."""
        away, reach = inputs.error.abs(), torch.special.ndtri((1 + LEVELS) / 2).tolist()
        inside = (away <= width * inputs.std for width in reach)
        return self._sums(inputs.std, torch.ones_like(away), *inside)

    def _sums(self, std: torch.Tensor, *columns: torch.Tensor) -> torch.Tensor:
        """Return (D, B, k) sums of k columns (n, D) over the bins of each output."""
        spread = self._spread(std)
        step = torch.arange(1, self.n_bins, dtype=spread.dtype, device=spread.device) / self.n_bins
        edges = self.low + (self.high - self.low) * step
        index = torch.searchsorted(edges.contiguous(), spread, right=True)
        index = torch.where(self.high > self.low, index, 0)  # one value only: one bin
        index = index + self.n_bins * torch.arange(len(spread), device=spread.device)[:, None]
        size = len(spread) * self.n_bins
        sums = sums_by_index(index, *(column.T for column in columns), size=size)
        return sums.view(len(spread), self.n_bins, len(columns))

    def _spread(self, std: torch.Tensor) -> torch.Tensor:
        """Return (D, n)."""
        return (std.square() if self.bin_by == "variance" else std).T.contiguous()


def uce_error(sums: torch.Tensor) -> torch.Tensor:
    """Return UCE of bin sums: (..., D, B, 3) → (...)."""
    count, variance, squared = sums.unbind(-1)
    return ((squared - variance).abs().sum(-1) / count.sum(-1)).mean(-1)


def ence_error(sums: torch.Tensor) -> torch.Tensor:
    """Return ENCE of bin sums: (..., D, B, 3) → (...)."""
    _, variance, squared = sums.unbind(-1)
    used = variance > 0
    relative = (squared.sqrt() / variance.where(used, 1.0).sqrt() - 1).abs()
    return (relative.where(used, 0.0).sum(-1) / used.sum(-1)).mean(-1)


def qce_error(sums: torch.Tensor) -> torch.Tensor:
    """Return QCE of bin sums: (..., D, B, 1 + Q) → (...)."""
    count, inside = sums[..., :1], sums[..., 1:]
    gap = (inside - LEVELS.to(sums.device) * count).abs().sum(-2) / count.sum(-2)
    return gap.mean((-2, -1))


def two_row_reading(inputs: RegressionInputs) -> RegressionInputs:
    """Return the inputs as the released evaluation reads them."""
    mean, std = (inputs.mean + inputs.std) / 2, (inputs.mean - inputs.std).abs() / 2
    return RegressionInputs(mean, inputs.targets, std)
