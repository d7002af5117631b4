"""Label smoothing: part of the target is spread evenly over the classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from torch import nn

from tailormix import checks
from tailormix.losses import targets as shared

if TYPE_CHECKING:
    import torch


@final
class LabelSmoothing(nn.Module):
    """L_i = (1 - α) · (-Σ_c t_c log p_c) + α · mean_c(-log p_c), with α in [0, 1].

    Linear in the target, so rows (n, C) need no further rule; the same value as
    ``torch.nn.functional.cross_entropy(..., label_smoothing=α)``. α = 0 is cross-entropy.
    Shapes: logits (n, C); targets (n,) or (n, C); result (n,).

    >>> import torch
    >>> LabelSmoothing(alpha=0.5)(torch.tensor([[0.0, 20.0]]), torch.tensor([1]))
    tensor([5.])
    """

    def __init__(self, alpha: float = 0.05) -> None:
        super().__init__()
        self.alpha = checks.fraction("alpha", alpha)

    def forward(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the loss of each sample."""
        logits, targets = shared.prepare(logits, targets)
        surprise = -logits.log_softmax(1)
        return (1 - self.alpha) * shared.expect(surprise, targets) + self.alpha * surprise.mean(1)
