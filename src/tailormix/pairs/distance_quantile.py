"""Who is mixed with whom: only near pairs, or only far ones (the paper's distance study, §3.1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch

from tailormix import checks
from tailormix.batch import SPACES, Batch, Space
from tailormix.kept import kept_outside, readable
from tailormix.similarity import NOT_FINITE, ordered_pairs, rows_of

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
        n = batch.x.shape[0]
        if n == 1:
            return torch.zeros(1, dtype=torch.int64, device=draws.device)
        pairs = ordered_pairs(batch.features(self.space))
        if readable(pairs) and not math.isfinite(pairs.sum().item()):
            _reject(batch.features(self.space))
        threshold = order_statistic(pairs, n, self.q)
        admissible = pairs <= threshold if self.side == "lower" else pairs > threshold
        admissible = torch.cat((admissible, _itself(draws.device))).index_select(0, _square(n, draws.device))
        # One of the admissible by its number among them: one uniform a row, where argmax would take n.
        whole = torch.int16 if n < 2**15 else torch.int32
        number = admissible.view(n, n).cumsum(1, dtype=whole)
        chosen = draws.uniform(n, 1).mul_(number.narrow(1, n - 1, 1)).to(whole)  # u ≤ 1 - 2⁻²⁴: never all
        return torch.searchsorted(number, chosen, right=True).view(n)


def _reject(points: Tensor) -> None:
    """Name a point that is at fault; distances that are merely large may pass."""
    rows = (~rows_of(points).isfinite()).any(1).nonzero()
    if len(rows):
        raise ValueError(f"{NOT_FINITE} {int(rows[0])}")


def order_statistic(pairs: Tensor, n: int, q: float) -> Tensor:
    """The largest of all n² distances that is at most their q-quantile; any numbers in their order will do.

    No distance lies strictly between it and the interpolated quantile, so that it divides them alike. Sorted,
    the n zeros of the diagonal come first and then each of ``pairs``, i < j, twice. (``torch.quantile`` would
    sort them all, and refuses more than 16 million.)

    >>> order_statistic(torch.tensor([2.0]), 2, 0.5)
    tensor(0.)
    """
    position = int(q * (n * n - 1))
    if position < n:
        return pairs.new_zeros(())
    rank = (position - n) // 2
    if readable(pairs):  # kthvalue keeps track of indices, and takes three times as long
        return torch.from_numpy(np.partition(pairs.numpy(), rank)[rank : rank + 1])
    return pairs.kthvalue(rank + 1).values


@kept_outside
def _itself(device: torch.device) -> Tensor:
    return torch.ones(1, dtype=torch.bool, device=device)


@kept_outside
def _square(n: int, device: torch.device) -> Tensor:
    """Where each entry of an n × n matrix lies among the pairs i < j; for the diagonal, behind them."""
    rows, columns = torch.triu_indices(n, n, 1, device=device).unbind()
    place = torch.full((n, n), len(rows), device=device)
    place[rows, columns] = place[columns, rows] = torch.arange(len(rows), device=device)
    return place.view(-1)
