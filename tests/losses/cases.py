"""Shared by the tests of the losses: every loss of the registry as a function of logits and targets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from tailormix.losses import CRL, LOSSES, build

if TYPE_CHECKING:
    from collections.abc import Iterable

SIZE = 16  # of the data set whose correctness CRL remembers
SOFT = [name for name, record in LOSSES.items() if record.soft_targets]
# Small batches stay within the defaults' margin of 10: a smaller one makes MbLS's penalty active.
ACTIVE = {"mbls": {"margin": 0.5}, "crl": {"size": SIZE}}


def make(name: str) -> nn.Module:
    """Build the loss with active penalties; CRL with a history of five epochs, which calls leave alone."""
    loss = build(name, **ACTIVE.get(name, {}))
    if isinstance(loss, CRL):
        loss.counts.copy_(torch.arange(SIZE) % 6)
        loss.epochs.fill_(5)
    return loss.eval()


def call(loss: nn.Module, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the loss of a batch whose ids are 0, 1, 2, ..."""
    if getattr(loss, "needs_ids", False):
        n = logits.shape[0] if logits.ndim else 0
        return loss(logits, targets, torch.arange(n, device=logits.device))
    return loss(logits, targets)


def mixed(y: torch.Tensor, partner: torch.Tensor, lam: Iterable[float], classes: int) -> torch.Tensor:
    """λ·onehot(y_i) + (1-λ)·onehot(y_j): the rows that a mixing method hands over."""
    rows = nn.functional.one_hot(y, classes).double()
    weight = torch.tensor(list(lam)).double()[:, None]
    return weight * rows + (1 - weight) * rows[partner]
