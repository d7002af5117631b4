"""CPC: pairwise constraints, the right class above the wrong ones and these level with each other."""

from __future__ import annotations

from typing import final

import torch
from torch import nn
from torch.nn import functional

from tailormix import checks
from tailormix.losses.targets import check_inputs, cross_entropy, expected_value


@final
class CPC(nn.Module):
    """L_i = CE_i + λ1 · BDC_i + λ2 · BEC_i, with ℓ_jk = -log σ(z_j - z_k) ≥ 0.

    BDC_i = Σ_{j≠y} ℓ_yj / (C-1), binary discrimination: the right class y against every wrong one.
    BEC_i = ½ Σ_{j,k≠y} ℓ_jk / ((C-1)(C-2)), binary exclusion: ordered pairs of wrong classes; the pairs j = k
    are included as published and add the constant ½ log 2 / (C-2). Two classes have no such pair: BEC = 0.
    λ1 is ``discrimination``, λ2 is ``exclusion``.

    Rows (n, C): both terms are extended linearly, as the expectation over a class y drawn from the row.
    Published by Cheng and Vasconcelos 2022.
    Shapes: logits (n, C); targets (n,) or (n, C); result (n,). Memory is O(n C²).

    >>> CPC(discrimination=1.0)(torch.zeros(1, 2), torch.tensor([0]))  # log 2 + log 2
    tensor([1.3863])
    """

    def __init__(self, discrimination: float = 0.1, exclusion: float = 1.0) -> None:
        super().__init__()
        self.discrimination = checks.non_negative("discrimination", discrimination)
        self.exclusion = checks.non_negative("exclusion", exclusion)

    def forward(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the loss of each sample."""
        logits, targets = check_inputs(logits, targets)
        classes = logits.shape[1]
        rows = functional.one_hot(targets, classes).to(logits.dtype) if targets.ndim == 1 else targets
        same = torch.eye(classes, dtype=torch.bool, device=logits.device)
        pairs = -functional.logsigmoid(logits[:, :, None] - logits[:, None, :])
        bdc = expected_value(pairs.masked_fill(same, 0).sum(2), targets) / (classes - 1)
        return (
            cross_entropy(logits, targets)
            + self.discrimination * bdc
            + self.exclusion * binary_exclusion(pairs, rows, same)
        )


def binary_exclusion(pairs: torch.Tensor, t: torch.Tensor, same: torch.Tensor) -> torch.Tensor:
    """½ Σ_jk w_jk ℓ_jk / ((C-1)(C-2)), shape (n,), where w_jk = Σ_y t_y [j≠y][k≠y].

    ``pairs`` is ℓ, shape (n, C, C); ``t`` are rows (n, C); ``same`` is the identity (C, C) as a mask. The
    weight is 1 - t_j - t_k, and 1 - t_j where j = k. Weighting term by term, instead of taking the whole sum
    and subtracting what belongs to y, keeps a huge z_y from drowning the rest in rounding.
    """
    classes = t.shape[1]
    if classes == 2:
        return t.new_zeros(t.shape[0])
    weights = 1 - t[:, :, None] - t[:, None, :] * ~same
    return (weights * pairs).sum((1, 2)) / (2 * (classes - 1) * (classes - 2))
