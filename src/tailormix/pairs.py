"""Question (i): who is mixed with whom?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch

from tailormix import checks
from tailormix.batch import SPACES, Batch, Space, take
from tailormix.kept import kept_outside, readable
from tailormix.kernel import NOT_FINITE, ordered_pairs, rows_of

if TYPE_CHECKING:
    from torch import Tensor

    from tailormix.draws import Draws

__all__ = ["DistanceQuantile", "LabelDensity", "OptimalTransport", "RandomPairs", "SelfPairs"]


@dataclass(frozen=True)
class SelfPairs:
    """σ(i) = i."""

    pooled: ClassVar[bool] = False
    needs_embeddings: ClassVar[bool] = False

    def __call__(self, batch: Batch, draws: Draws) -> Tensor:
        return torch.arange(len(batch), device=draws.device)


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


NEGLIGIBLE = -60.0  # e^-60 changes no sum of float64; smaller weights would only cost time (subnormals)


@dataclass(frozen=True)
class LabelDensity:
    """P(σ(i) = j) ∝ exp(-‖y_i - y_j‖² / (2h²)) over the training set, i itself included.

    Only the rows of the batch are ever formed, (n, N) numbers at a time: there is no N×N table to prepare.

    Attributes:
        bandwidth: h, on the scale of the labels.
        source: ``"pool"`` (the training set, given to ``fit``) or ``"batch"``.

    """

    bandwidth: float = 1.0
    source: str = "pool"
    needs_embeddings: ClassVar[bool] = False

    def __post_init__(self) -> None:
        checks.positive("bandwidth", self.bandwidth)
        checks.known("source", self.source, SOURCES)

    @property
    def pooled(self) -> bool:
        """Whether partners come from the pool."""
        return self.source == "pool"

    def __call__(self, batch: Batch, draws: Draws) -> Tensor:
        if batch.classification:
            raise ValueError("label-density pairs (C-Mixup) need real targets, got class labels")
        labels = batch.y if batch.pool is None else batch.pool.y
        share = density(_rows(batch.y), _rows(labels).to(batch.y.device), self.bandwidth).cumsum_(1)
        level = (1 - draws.uniform(len(batch), 1).to(share.dtype)) * share[:, -1:]  # in (0, total]
        return torch.searchsorted(share, level).squeeze(1)


def density(points: Tensor, labels: Tensor, bandwidth: float) -> Tensor:
    """exp(-‖p_i - y_j‖² / (2h²)) of shape (n, N), scaled by row so that its largest entry is 1.

    >>> density(torch.tensor([[0.0]]), torch.tensor([[0.0], [1.0]]), bandwidth=1.0)
    tensor([[1.0000, 0.6065]], dtype=torch.float64)
    """
    # In units of h and in float64: the usual ‖a‖² + ‖b‖² - 2ab loses small differences of large labels.
    points, labels = points.double() / bandwidth, labels.double() / bandwidth
    if points.shape[1] == 1:
        gap = labels.T - points
    else:
        gap = torch.cdist(points, labels, compute_mode="donot_use_mm_for_euclid_dist")
    exponent = gap.square_().mul_(-0.5)
    return exponent.sub_(exponent.amax(1, keepdim=True)).clamp_(min=NEGLIGIBLE).exp_()


def _rows(y: Tensor) -> Tensor:
    """(N, ...) → (N, d)."""
    return y.reshape(y.shape[0], -1)


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
