"""How far the predicted means are from the targets: RMSE, MAE, MAPE, pooled over samples and outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from tailormix.kept import readable
from tailormix.metrics.regressed import Regressed, regressed

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
