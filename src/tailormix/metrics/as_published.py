"""UCE and ENCE as the paper's tables hold them: (mean, std) read as two Monte Carlo samples.

The released evaluation passes one array of two rows, the means and the standard deviations, to a library
that takes an array for stochastic forward passes. It therefore sees the mean (μ + s)/2 and the variance ((μ
− s)/2)², and the result is in essence a binned bias. Use these only to compare with published numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailormix.metrics.regressed import regressed
from tailormix.metrics.variance_calibration import ence, uce

if TYPE_CHECKING:
    import torch

    from tailormix.metrics.inputs import Array


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
