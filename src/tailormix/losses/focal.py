"""The focal loss, and the one whose γ depends on the sample."""

from __future__ import annotations

from typing import final

import torch
from torch import nn

from tailormix import checks
from tailormix.losses.targets import check_inputs, expected_value


@final
class FocalLoss(nn.Module):
    """L_i = -Σ_c t_c (1 - p_c)^γ log p_c.

    For a class index y this is the published -(1 - p_y)^γ log p_y. A row is read as the expected focal loss
    of a label drawn from it, the one extension that is linear in the target. γ = 0 is cross-entropy.
    Published by Lin et al. 2017; Mukhoti et al. 2020.
    Shapes: logits (n, C); targets (n,) or (n, C); result (n,).

    >>> FocalLoss(gamma=1.0)(torch.zeros(1, 2), torch.tensor([0]))
    tensor([0.3466])
    """

    def __init__(self, gamma: float = 3.0) -> None:
        super().__init__()
        self.gamma = checks.non_negative("gamma", gamma)

    def forward(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the loss of each sample."""
        logits, targets = check_inputs(logits, targets)
        return expected_value(modulated(logits.log_softmax(1), self.gamma), targets)


@final
class FLSD(nn.Module):
    """L_i = -Σ_c t_c (1 - p_c)^γ(p_c) log p_c with γ(p) = 5 if p < 0.2, else 3.

    γ carries no gradient. For a class index this is the published FLSD-53; a row is read as the expected loss
    of a label drawn from it, as in :class:`~tailormix.losses.FocalLoss`. ``gamma_unsure`` holds below
    ``threshold``, ``gamma`` from there on.
    Published by Mukhoti et al. 2020.
    Shapes: logits (n, C); targets (n,) or (n, C); result (n,).

    >>> FLSD()(torch.zeros(1, 2), torch.tensor([0]))  # 0.5^3 · log 2
    tensor([0.0866])
    """

    def __init__(self, gamma: float = 3.0, gamma_unsure: float = 5.0, threshold: float = 0.2) -> None:
        super().__init__()
        self.gamma = checks.non_negative("gamma", gamma)
        self.gamma_unsure = checks.non_negative("gamma_unsure", gamma_unsure)
        self.threshold = checks.fraction("threshold", threshold)

    def forward(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the loss of each sample."""
        logits, targets = check_inputs(logits, targets)
        log_p = logits.log_softmax(1)
        unsure = log_p.exp() < self.threshold
        loss = torch.where(unsure, modulated(log_p, self.gamma_unsure), modulated(log_p, self.gamma))
        return expected_value(loss, targets)


def modulated(log_p: torch.Tensor, gamma: float) -> torch.Tensor:
    """-(1 - p)^γ log p, element by element, with finite gradients up to p = 1.

    >>> modulated(torch.tensor([0.5]).log(), gamma=1.0)
    tensor([0.3466])
    """
    # The clamp matters at p = 1 only: 0^γ has an infinite slope for γ < 1.
    doubt = (-torch.expm1(log_p)).clamp(min=torch.finfo(log_p.dtype).tiny)
    return -(doubt**gamma) * log_p
