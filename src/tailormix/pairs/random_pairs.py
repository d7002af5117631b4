"""Who is mixed with whom: anybody, at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tailormix import checks

if TYPE_CHECKING:
    from torch import Tensor

    from tailormix.batch import Batch
    from tailormix.draws import Draws

SOURCES = ("batch", "pool")


@dataclass(frozen=True)
class RandomPairs:
    """σ, a uniform permutation of the batch; or partners drawn uniformly from the training set.

    Attributes:
        source: ``"batch"`` (the paper: every sample is somebody's partner once) or ``"pool"`` (the released
            regression code: drawn from the training set with replacement).

    """

    source: str = "batch"
    needs_embeddings: ClassVar[bool] = False
    vectorised: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checks.known("source", self.source, SOURCES)

    @property
    def pooled(self) -> bool:
        """Whether partners come from the pool."""
        return self.source == "pool"

    def __call__(self, batch: Batch, draws: Draws) -> Tensor:
        if batch.pool is None:
            return draws.permutation(batch.x.shape[0])
        return draws.below(len(batch.pool), len(batch))
