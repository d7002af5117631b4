"""How strongly: two coefficients on both sides of ½ and a margin apart (MIT)."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from tailormix import checks
from tailormix.coefficients.beta import sample
from tailormix.plan import Plan

if TYPE_CHECKING:
    from torch import Tensor

    from tailormix.batch import Batch
    from tailormix.draws import Draws

RAREST = 1e-3  # share of feasible draws below which a setting is rejected
FAILURE = 1e-12  # accepted probability that no candidate is feasible


@dataclass(frozen=True)
class SeparatedBetas:
    """λ₁ = max(b, 1-b), λ₂ = min(b', 1-b') with b, b' ~ Beta(α, α), given that λ₁ - λ₂ ≥ margin.

    Instead of drawing again until the margin holds, which waits for the device at every try, enough
    candidates are drawn at once that one of them holds it but for a probability of 1e-12.

    Attributes:
        alpha: shape of the Beta.
        margin: least difference of the two, in (0, 1).

    """

    alpha: float = 1.0
    margin: float = 0.5
    needs_embeddings: ClassVar[bool] = False

    def __post_init__(self) -> None:
        checks.positive("alpha", self.alpha)
        if not 0 < checks.fraction("margin", self.margin) < 1:
            raise ValueError(f"margin must lie strictly between 0 and 1, got {self.margin}")
        if (share := feasible_share(self.alpha, self.margin)) < RAREST:
            raise ValueError(
                f"margin={self.margin} with alpha={self.alpha} leaves {share:.2g} of all draws: lower one"
            )

    def __call__(self, batch: Batch, partner: Tensor, draws: Draws) -> Plan:
        return Plan(partner, self.pairs(draws, 1)[0].expand(len(batch)))

    def pairs(self, draws: Draws, count: int) -> Tensor:
        """λ₁ and λ₂ of ``count`` draws, (2, count)."""
        share = feasible_share(self.alpha, self.margin)
        candidates = 1 if share >= 1 else math.ceil(math.log(FAILURE) / math.log1p(-share))
        b = sample(self.alpha, 2 * count * candidates, draws).view(2, count, candidates)
        near = torch.minimum(b, 1 - b)  # 1 - λ₁ and λ₂: two independent draws of one law on [0, ½]
        feasible = near.sum(0) <= 1 - self.margin
        first = feasible.to(torch.uint8).argmax(1, keepdim=True)
        chosen = near.gather(2, first.expand(2, count, 1)).squeeze(2)
        return torch.stack((1 - chosen[0], chosen[1]))


@functools.cache
def feasible_share(alpha: float, margin: float) -> float:
    """P(λ₁ - λ₂ ≥ margin), by integrating over one of the two.

    >>> round(feasible_share(1.0, 0.5), 6)
    0.5
    """
    import numpy as np
    from scipy import special

    level = (np.arange(4096) + 0.5) / 4096 / 2  # quantiles of the near half, in equal shares
    near = special.betaincinv(alpha, alpha, level)
    room = np.clip(1 - margin - near, 0, 0.5)
    return float(np.mean(2 * special.betainc(alpha, alpha, room)))
