"""ECP: confident predictions are penalised by their missing entropy."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from torch import nn

from tailormix import checks
from tailormix.losses import targets as shared

if TYPE_CHECKING:
    import torch


@final
class EntropyPenalty(nn.Module):
    """L_i = -Σ_c t_c log p_c - α · H_i, with H_i = -Σ_c p_c log p_c.

    The code behind the published tables averages the entropy over the classes instead of summing it, that is
    α/C for α; ``class_mean=True`` repeats that. The penalty does not look at the target, so rows need no
    rule. The loss can be negative (by α log C at most). α = 0 is cross-entropy.
    Shapes: logits (n, C); targets (n,) or (n, C); result (n,).

    >>> import torch
    >>> EntropyPenalty(alpha=0.5)(torch.zeros(1, 2), torch.tensor([0]))  # log 2 - 0.5 log 2
    tensor([0.3466])
    """

    def __init__(self, alpha: float = 0.1, class_mean: bool = False) -> None:
        super().__init__()
        self.alpha = checks.non_negative("alpha", alpha)
        self.class_mean = shared.flag("class_mean", class_mean)

    def forward(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the loss of each sample."""
        logits, targets = shared.prepare(logits, targets)
        log_p = logits.log_softmax(1)
        terms = -log_p.exp() * log_p
        entropy = terms.mean(1) if self.class_mean else terms.sum(1)
        return shared.expect(-log_p, targets) - self.alpha * entropy
