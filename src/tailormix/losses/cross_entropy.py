"""Cross-entropy: the loss that all others extend."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from torch import nn

from tailormix.losses import targets as shared

if TYPE_CHECKING:
    import torch


@final
class CrossEntropy(nn.Module):
    """L_i = -Σ_c t_c log p_c, for indices and rows alike.

    Shapes: logits (n, C); targets (n,) or (n, C); result (n,).

    >>> import torch
    >>> CrossEntropy()(torch.zeros(2, 4), torch.tensor([0, 3]))
    tensor([1.3863, 1.3863])
    """

    def forward(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the loss of each sample."""
        return shared.cross_entropy(*shared.prepare(logits, targets))
