"""Who is mixed with whom: groups of k with groups of k, matched as closely as possible (k-Mixup)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from tailormix import checks
from tailormix.batch import SPACES, Batch, Space
from tailormix.pairs.random_pairs import SOURCES, RandomPairs
from tailormix.plan import take
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
        source: where the images come from: the ``"batch"``, under π, or the ``"pool"``, drawn at random.

    """

    k: int = 16
    space: Space = "input"
    squared: bool = True
    source: str = "batch"

    def __post_init__(self) -> None:
        checks.known("source", self.source, SOURCES)
        checks.integer("k", self.k, at_least=1)
        if not callable(self.space):
            checks.known("space", self.space, SPACES)

    @property
    def pooled(self) -> bool:
        """Whether partners come from the pool."""
        return self.source == "pool"

    @property
    def needs_embeddings(self) -> bool:
        """Whether embeddings are used."""
        return self.space == "embedding"

    def __call__(self, batch: Batch, draws: Draws) -> Tensor:
        partner = RandomPairs(self.source)(batch, draws)
        if self.k == 1:
            return partner
        points, others, chosen = batch.pair_features(partner, self.space)
        order = match_blocks(rows_of(points), rows_of(take(others, chosen)), self.k, self.squared)
        return partner.index_select(0, order)


# A custom operator, so that the compiler and the meta device see a function from shapes to shapes.
@torch.library.custom_op("tailormix::match_blocks", mutates_args=())
def match_blocks(points: torch.Tensor, others: torch.Tensor, k: int, squared: bool) -> torch.Tensor:
    """Within each block of k rows, the assignment of points to others of least total cost, (n,)."""
    from scipy.optimize import linear_sum_assignment

    matched: list[torch.Tensor] = []
    for start in range(0, len(points), k):
        block = slice(start, start + k)
        cost = torch.cdist(points[block].double(), others[block].double())
        _, column = linear_sum_assignment((cost.square() if squared else cost).cpu().numpy())
        matched.append(torch.from_numpy(column) + start)
    return torch.cat(matched).to(points.device)


@match_blocks.register_fake
def _(points: torch.Tensor, others: torch.Tensor, k: int, squared: bool) -> torch.Tensor:  # noqa: ARG001
    return points.new_empty(len(points), dtype=torch.int64)
