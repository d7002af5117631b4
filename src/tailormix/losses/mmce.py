"""Maximum mean calibration error, plain and weighted."""

from __future__ import annotations

from typing import final

import torch
from torch import nn

from tailormix import checks
from tailormix.losses.targets import check_inputs, confidence, cross_entropy


@final
class MMCE(nn.Module):
    """L = mean_i CE_i + λ · (1/n²) Σ_ij (r_i - c_i)(r_j - c_j) K(c_i, c_j), a scalar.

    K(c, c') = exp(-|c - c'| / width); c is the confidence max_k p_k and r the correctness of the prediction;
    λ is ``weight``. As in the code behind the published tables there is no square root over the double sum.

    Rows (n, C): r is the target's mass on the predicted class, which is the expected correctness. The penalty
    estimates ‖E[(r - c) φ(c)]‖², where r enters linearly, so that its expectation may stand for it.
    Published by Kumar et al. 2018.
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
        logits, targets = check_inputs(logits, targets)
        c, r = confidence(logits, targets)
        penalty = squared_norm((r - c) / c.shape[0], c, self.width)
        return cross_entropy(logits, targets).mean() + self.weight * penalty


@final
class WeightedMMCE(nn.Module):
    """L = mean_i CE_i + λ · √(A + B - 2D + 1e-10), a scalar; no root if no or every prediction is right.

    A = Σ (1-c_i)(1-c_j) K / m² over pairs of right predictions, B = Σ c_i c_j K / k² over pairs of wrong
    ones, D = Σ (1-c_i) c_j K / (mk) over mixed pairs; m are right, k wrong, K and c as in
    :class:`~tailormix.losses.MMCE`; λ is ``weight``. With u_i = (1-c_i)/m for right and -c_i/k for wrong
    predictions, A + B - 2D = Σ_ij u_i u_j K(c_i, c_j).

    The released code averages over the pairs and then divides by m², k² and mk once more, which makes the
    root about n times smaller; ``double_division=True`` repeats that, to compare numbers.

    Rows (n, C): a sample is right with its target's mass r_i on the predicted class and wrong with 1 - r_i;
    m = Σ r_i and k = Σ (1 - r_i), and less than half a sample counts as none.
    Published by Kumar et al. 2018.
    Shapes: logits (n, C); targets (n,) or (n, C).

    >>> WeightedMMCE()(torch.zeros(2, 2), torch.tensor([0, 1]))  # log 2 + 2 · √1e-10: the two halves cancel
    tensor(0.6932)
    """

    def __init__(self, weight: float = 2.0, width: float = 0.4, double_division: bool = False) -> None:
        super().__init__()
        self.weight = checks.non_negative("weight", weight)
        self.width = checks.positive("width", width)
        self.double_division = checks.boolean("double_division", double_division)

    def forward(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the loss of the batch, a scalar."""
        logits, targets = check_inputs(logits, targets)
        c, r = confidence(logits, targets)
        wrong = (1 - r).clamp(min=0)
        u = self._share(r) * (1 - c) - self._share(wrong) * c
        # The kernel is positive definite, so only rounding can fall below 0.
        root = (squared_norm(u, c, self.width).clamp(min=0) + 1e-10).sqrt()
        both = (r.sum() >= 0.5) & (wrong.sum() >= 0.5)
        penalty = torch.where(both, root, torch.zeros_like(root))
        return cross_entropy(logits, targets).mean() + self.weight * penalty

    def _share(self, members: torch.Tensor) -> torch.Tensor:
        size = members.sum().clamp(min=0.5)
        return members / (size**2 if self.double_division else size)


def squared_norm(u: torch.Tensor, c: torch.Tensor, width: float) -> torch.Tensor:
    """Σ_ij u_i u_j exp(-|c_i - c_j| / width), a scalar: the squared norm of Σ_i u_i φ(c_i); u and c are (n,).

    >>> squared_norm(torch.ones(2), torch.tensor([0.2, 0.6]), width=0.4)  # 2 + 2/e
    tensor(2.7358)
    """
    kernel = torch.exp(-(c[:, None] - c[None, :]).abs() / width)
    # Element by element, since autocast would run a matrix product in half precision.
    return (u[:, None] * u[None, :] * kernel).sum()
