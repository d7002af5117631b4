"""Who is mixed with whom: only near pairs, or only far ones (the paper's distance study, §3.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from tailormix import checks
from tailormix.batch import SPACES, Batch, Space
from tailormix.kept import kept
from tailormix.similarity import all_squared

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
        squares = all_squared(batch.features(self.space))
        threshold = order_statistic(squares, self.q)
        admissible = squares <= threshold if self.side == "lower" else squares > threshold
        admissible.fill_diagonal_(True)
        # One of the admissible by its number among them: one uniform a row, where argmax would take n.
        number = admissible.cumsum(1, dtype=torch.int32)
        chosen = (draws.uniform(len(number), 1).double() * number[:, -1:]).int()
        return torch.searchsorted(number, chosen, right=True)[:, 0]


def order_statistic(matrix: Tensor, q: float) -> Tensor:
    """The largest entry of a matrix of distances (or their squares) that is at most the q-quantile of all.

    No entry lies strictly between it and the interpolated quantile, so that it divides the entries alike.
    Sorted, the n zeros of the diagonal come first and then every entry above it twice: half of the matrix is
    enough. (``torch.quantile`` would sort all of it, and refuses more than 16 million entries.)

    >>> order_statistic(torch.tensor([[0.0, 2.0], [2.0, 0.0]]), 0.5)
    tensor(0.)
    """
    n = matrix.shape[0]
    position = int(q * (n * n - 1))
    if position < n:
        return matrix.new_zeros(())
    half = matrix.flatten().index_select(0, _above_diagonal(n, matrix.device))
    return half.kthvalue((position - n) // 2 + 1).values


@kept
def _above_diagonal(n: int, device: torch.device) -> Tensor:
    """Where the entries above the diagonal of an n × n matrix lie in its memory."""
    rows, columns = torch.triu_indices(n, n, 1, device=device).unbind()
    return rows * n + columns
