"""Calibration error over bins of equal mass (AECE)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from tailormix import checks
from tailormix.metrics.inputs import classified
from tailormix.metrics.rows import rows

if TYPE_CHECKING:
    from tailormix.metrics.inputs import Array


def aece(
    predictions: Array,
    targets: Array,
    *,
    from_logits: bool = False,
    n_bins: int = 15,
    binary: str | None = None,
) -> float:
    """Σ_b (n_b/n) |acc_b − conf_b|: samples sorted by confidence, cut into B runs of equal length.

    The first n mod B runs get one sample more; with n < B some are empty. Samples with the same confidence
    share their mean accuracy, so the value does not depend on the order of the samples.

    >>> import torch
    >>> round(aece(torch.tensor([[0.1, 0.9], [0.4, 0.6]]), torch.tensor([1, 0]), n_bins=2), 6)
    0.35
    """
    found = rows(classified(predictions, targets, from_logits=from_logits, binary=binary))
    return float(adaptive_error(found.confidence, found.event, n_bins))


def adaptive_error(confidence: torch.Tensor, event: torch.Tensor, n_bins: int) -> torch.Tensor:
    """Return AECE of (n,) confidences and events.

    >>> adaptive_error(torch.tensor([0.9, 0.6]), torch.tensor([1.0, 0.0]), 1)
    tensor(0.2500, dtype=torch.float64)
    """
    levels, group = torch.unique(confidence.double(), return_inverse=True)
    count = levels.new_zeros(len(levels)).index_add_(0, group, torch.ones_like(levels[group]))
    events = torch.zeros_like(count).index_add_(0, group, event.double())
    return equal_mass_error(levels, count[None], events[None], n_bins)[0]


def equal_mass_error(
    levels: torch.Tensor, count: torch.Tensor, events: torch.Tensor, n_bins: int
) -> torch.Tensor:
    """Return (r,) errors of r weightings of the same sorted confidence ``levels`` (m,).

    ``count`` (r, m) says how many samples sit at each level and ``events`` (r, m) how many of them came
    true. A run that ends inside a level takes its part of both, which is what sharing the mean accuracy of
    ties means.
    """
    checks.integer("n_bins", n_bins, at_least=1)
    gap = events - count * levels
    mass, signed = count.cumsum(1), gap.cumsum(1)
    cuts = _cuts(mass[:, -1:], n_bins)
    level = torch.searchsorted(mass, cuts).clamp_max(len(levels) - 1)
    inside = (cuts - (mass - count).gather(1, level)) / count.gather(1, level).clamp_min(1e-12)
    reached = (signed - gap).gather(1, level) + inside.clamp(0, 1) * gap.gather(1, level)
    runs = torch.diff(reached, prepend=torch.zeros_like(reached[:, :1]), dim=1)
    return runs.abs().sum(1) / mass[:, -1]


def _cuts(total: torch.Tensor, n_bins: int) -> torch.Tensor:
    """Where each run ends, in samples: n = 17, B = 5 gives 4, 8, 11, 14, 17."""
    number = torch.arange(1, n_bins + 1, dtype=total.dtype, device=total.device)
    short = torch.floor(total / n_bins)
    return number * short + torch.minimum(number, total - n_bins * short)
