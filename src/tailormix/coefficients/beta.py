"""How strongly: Beta(α, α), for the whole batch or for each pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from tailormix import checks
from tailormix.draws import GRAINS, random_levels
from tailormix.plan import Plan
from tailormix.warping import beta_at

if TYPE_CHECKING:
    from torch import Tensor

    from tailormix.batch import Batch
    from tailormix.draws import Draws


@dataclass(frozen=True)
class Beta:
    """λ ~ Beta(α, α), drawn once for the batch or once for each pair; α = 0 means λ = 1: no mixing.

    Attributes:
        alpha: the shape; 1 is uniform, small values mix hardly, large ones half and half.
        per: ``"batch"`` or ``"sample"``.

    """

    alpha: float = 1.0
    per: str = "batch"
    needs_embeddings: ClassVar[bool] = False
    vectorised: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checks.non_negative("alpha", self.alpha)
        checks.known("per", self.per, GRAINS)

    def __call__(self, batch: Batch, partner: Tensor, draws: Draws) -> Plan:
        n = len(batch)
        lam = sample(self.alpha, n if self.per == "sample" else 1, draws)
        return Plan(partner, lam.expand(n))


def sample(alpha: float, count: int, draws: Draws) -> Tensor:
    """``count`` draws from Beta(α, α), by warping (Proposition 3.3)."""
    if alpha == 0:
        return torch.ones(count, device=draws.device)
    level, logistic = random_levels(draws, count)
    return beta_at(level, alpha, logistic)
