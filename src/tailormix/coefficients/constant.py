"""How strongly: always the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from tailormix import checks
from tailormix.plan import Plan

if TYPE_CHECKING:
    from torch import Tensor

    from tailormix.batch import Batch
    from tailormix.draws import Draws


@dataclass(frozen=True)
class Constant:
    """λ_i = lam for every pair; 1 leaves the batch as it is."""

    lam: float = 1.0
    needs_embeddings: ClassVar[bool] = False

    def __post_init__(self) -> None:
        checks.fraction("lam", self.lam)

    def __call__(self, batch: Batch, partner: Tensor, draws: Draws) -> Plan:
        return Plan(partner, torch.full((len(batch),), float(self.lam), device=draws.device))
