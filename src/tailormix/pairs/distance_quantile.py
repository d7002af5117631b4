"""Who is mixed with whom: only near pairs, or only far ones (the paper's distance study, §3.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from tailormix import checks
from tailormix.batch import SPACES, Batch, Space
from tailormix.similarity import all_distances, rows_of

if TYPE_CHECKING:
    from torch import Tensor

    from tailormix.draws import Draws

SIDES = ("lower", "higher")


@dataclass(frozen=True)
class DistanceQuantile:
    """σ(i) uniform over {j : D_ij ≤ θ} (lower) or {j : D_ij > θ} (higher), and always i itself.

    D holds all n² distances of the batch, the zeros of the diagonal included, and θ is their q-quantile.
    Lower 1 and higher 0 give uniform partners; lower 0 and higher 1 give none.

    Attributes:
        q: the quantile, in [0, 1].
        side: ``"lower"`` or ``"higher"``.
        space: where distances are measured, as for the similarity kernel.

    """

    q: float = 0.5
    side: str = "lower"
    space: Space | None = None
    pooled: ClassVar[bool] = False

    def __post_init__(self) -> None:
        checks.fraction("q", self.q)
        checks.known("side", self.side, SIDES)
        if self.space is not None and not callable(self.space):
            checks.known("space", self.space, SPACES)

    @property
    def needs_embeddings(self) -> bool | None:
        """Whether embeddings are used; ``None`` where that depends on the task."""
        return None if self.space is None else self.space == "embedding"

    def __call__(self, batch: Batch, draws: Draws) -> Tensor:
        n = len(batch)
        distance = all_distances(rows_of(batch.features(self.space)))
        threshold = symmetric_quantile(distance, self.q)
        admissible = distance <= threshold if self.side == "lower" else distance > threshold
        admissible.fill_diagonal_(True)
        # The largest of uniforms among the admissible: each of them with equal probability.
        return torch.where(admissible, draws.uniform(n, n), -1.0).argmax(1)


def symmetric_quantile(matrix: Tensor, q: float) -> Tensor:
    """The q-quantile (linear interpolation) of all entries of a distance matrix.

    In sorted order the n zeros come first and then every entry above the diagonal twice, so that half of the
    matrix is enough. ``torch.quantile`` would sort all of it, and refuses more than 16 million entries.

    >>> symmetric_quantile(torch.tensor([[0.0, 2.0], [2.0, 0.0]]), 0.5)
    tensor(1.)
    """
    n = matrix.shape[0]
    position = q * (n * n - 1)
    below = int(position)
    above = min(below + 1, n * n - 1)
    rows, columns = torch.triu_indices(n, n, 1, device=matrix.device).unbind()
    half = matrix.flatten().index_select(0, rows * n + columns)
    low = _entry(half, n, below)
    return torch.lerp(low, _entry(half, n, above), position - below)


def _entry(half: Tensor, zeros: int, position: int) -> Tensor:
    """The entry at a position of the sorted matrix."""
    if position < zeros:
        return half.new_zeros(())
    return half.kthvalue((position - zeros) // 2 + 1).values
