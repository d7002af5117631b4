"""Who is mixed with whom: everybody with themselves, which is nobody with anybody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

if TYPE_CHECKING:
    from torch import Tensor

    from tailormix.batch import Batch
    from tailormix.draws import Draws


@dataclass(frozen=True)
class SelfPairs:
    """σ(i) = i."""

    pooled: ClassVar[bool] = False
    needs_embeddings: ClassVar[bool] = False

    def __call__(self, batch: Batch, draws: Draws) -> Tensor:
        return torch.arange(len(batch), device=draws.device)
