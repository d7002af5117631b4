"""MbLS: logits that fall too far below the largest one are pulled up."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from torch import nn

from tailormix import checks
from tailormix.losses import targets as shared

if TYPE_CHECKING:
    import torch


@final
class MbLS(nn.Module):
    """L_i = -Σ_c t_c log p_c + α · mean_c max(0, max_k z_k - z_c - m), with m the ``margin``.

    The penalty does not look at the target, so rows need no rule. α = 0 or a huge margin is cross-entropy.
    Shapes: logits (n, C); targets (n,) or (n, C); result (n,).

    >>> import torch
    >>> MbLS(alpha=1.0, margin=10.0)(torch.tensor([[30.0, 0.0]]), torch.tensor([0]))  # (0 + 20) / 2
    tensor([10.])
    """

    def __init__(self, alpha: float = 0.1, margin: float = 10.0) -> None:
        super().__init__()
        self.alpha = checks.non_negative("alpha", alpha)
        self.margin = checks.non_negative("margin", margin)

    def forward(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the loss of each sample."""
        logits, targets = shared.prepare(logits, targets)
        gap = logits.amax(1, keepdim=True) - logits
        return shared.cross_entropy(logits, targets) + self.alpha * (gap - self.margin).relu().mean(1)
