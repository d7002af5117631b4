"""Scores of a Gaussian prediction N(μ, σ²): its log-likelihood, and how often its central interval holds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from tailormix import checks
from tailormix.kept import readable
from tailormix.metrics.point_errors import with_one
from tailormix.metrics.regressed import Regressed, regressed

if TYPE_CHECKING:
    from tailormix.metrics.inputs import Array


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
