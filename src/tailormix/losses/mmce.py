"""MMCE: a kernel measure of calibration as a penalty."""

from __future__ import annotations

from typing import final

import torch
from torch import nn

from tailormix import checks
from tailormix.losses import targets as shared


def squared_norm(u: torch.Tensor, c: torch.Tensor, width: float) -> torch.Tensor:
    """Σ_ij u_i u_j exp(-|c_i - c_j| / width), a scalar: the squared norm of Σ_i u_i φ(c_i); u and c are (n,).

    >>> squared_norm(torch.ones(2), torch.tensor([0.2, 0.6]), width=0.4)  # 2 + 2/e
    tensor(2.7358)
    """
    kernel = torch.exp(-(c[:, None] - c[None, :]).abs() / width)
    # Element by element, since autocast would run a matrix product in half precision.
    return (u[:, None] * u[None, :] * kernel).sum()


@final
class MMCE(nn.Module):
    """L = mean_i CE_i + λ · (1/n²) Σ_ij (r_i - c_i)(r_j - c_j) K(c_i, c_j), a scalar.

    K(c, c') = exp(-|c - c'| / width); c is the confidence max_k p_k and r the correctness of the prediction;
    λ is ``weight``. As in the code behind the published tables there is no square root over the double sum.

    Rows (n, C): r is the target's mass on the predicted class, which is the expected correctness. The penalty
    estimates ‖E[(r - c) φ(c)]‖², where r enters linearly, so that its expectation may stand for it.
    Shapes: logits (n, C); targets (n,) or (n, C).

    >>> MMCE()(torch.zeros(1, 2), torch.tensor([0]))  # log 2 + 0.5²
    tensor(0.9431)
    """

    def __init__(self, weight: float = 1.0, width: float = 0.4) -> None:
        super().__init__()
        self.weight = checks.non_negative("weight", weight)
        self.width = checks.positive("width", width)

    def forward(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the loss of the batch, a scalar."""
        logits, targets = shared.prepare(logits, targets)
        c, r = shared.confidence(logits, targets)
        penalty = squared_norm((r - c) / c.shape[0], c, self.width)
        return shared.cross_entropy(logits, targets).mean() + self.weight * penalty
