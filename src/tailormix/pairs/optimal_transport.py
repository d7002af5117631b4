"""Who is mixed with whom: groups of k with groups of k, matched as closely as possible (k-Mixup)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from tailormix import checks
from tailormix.batch import SPACES, Batch, Space
from tailormix.similarity import rows_of

if TYPE_CHECKING:
    from torch import Tensor

    from tailormix.draws import Draws


@dataclass(frozen=True)
class OptimalTransport:
    """σ matches every block of k samples with its image under π at the least total cost.

    π is a uniform permutation; k = 1 is random pairing. The assignment is solved on the CPU, which makes this
    the one word that waits for the device.

    Attributes:
        k: size of the blocks.
        space: where distances are measured; the inputs by default.
        squared: cost ‖·‖² (the k-Mixup paper) or ‖·‖ (its released script).

    """

    k: int = 16
    space: Space = "input"
    squared: bool = True
    pooled: ClassVar[bool] = False

    def __post_init__(self) -> None:
        checks.integer("k", self.k, at_least=1)
        if not callable(self.space):
            checks.known("space", self.space, SPACES)

    @property
    def needs_embeddings(self) -> bool:
        """Whether embeddings are used."""
        return self.space == "embedding"

    def __call__(self, batch: Batch, draws: Draws) -> Tensor:
        permutation = draws.permutation(len(batch))
        if self.k == 1:
            return permutation
        matched: Tensor = match_blocks(rows_of(batch.features(self.space)), permutation, self.k, self.squared)
        return matched


# A custom operator, so that the compiler and the meta device see a function from shapes to shapes.
@torch.library.custom_op("tailormix::match_blocks", mutates_args=())
def match_blocks(points: torch.Tensor, permutation: torch.Tensor, k: int, squared: bool) -> torch.Tensor:
    """Within each block of k consecutive rows, the assignment to the block's image of least total cost."""
    from scipy.optimize import linear_sum_assignment

    matched: list[torch.Tensor] = []
    order = torch.arange(len(points), device=points.device)
    for block, image in zip(*(torch.split(i, k) for i in (order, permutation)), strict=True):
        cost = torch.cdist(points[block].double(), points[image].double())
        _, column = linear_sum_assignment((cost.square() if squared else cost).cpu().numpy())
        matched.append(image[torch.from_numpy(column).to(image.device)])
    return torch.cat(matched)


@match_blocks.register_fake
def _(points: torch.Tensor, permutation: torch.Tensor, k: int, squared: bool) -> torch.Tensor:  # noqa: ARG001
    return torch.empty_like(permutation)
