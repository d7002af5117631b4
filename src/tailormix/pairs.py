"""Question (i): who is mixed with whom?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from tailormix import checks
from tailormix.batch import Batch, Draws, Pool, Space, check_space
from tailormix.kernel import all_distances, as_rows

if TYPE_CHECKING:
    from torch import Tensor

SOURCES = ("batch", "pool")
SIDES = ("lower", "higher")


@dataclass(frozen=True)
class SelfPairs:
    """σ(i) = i: nobody is mixed with anybody else."""

    source: ClassVar[str] = "batch"
    needs_embeddings: ClassVar[bool] = False

    def __call__(self, batch: Batch, draws: Draws) -> Tensor:
        return torch.arange(len(batch), device=draws.device)


@dataclass(frozen=True)
class RandomPairs:
    """σ, a uniform permutation of the batch; or partners drawn uniformly from the training set.

    Attributes:
        source: ``"batch"`` (the paper: every sample is somebody's partner once) or ``"pool"`` (the released
            regression code: drawn from the training set with replacement).

    """

    source: str = "batch"
    needs_embeddings: ClassVar[bool] = False

    def __post_init__(self) -> None:
        checks.known("source", self.source, SOURCES)

    def __call__(self, batch: Batch, draws: Draws) -> Tensor:
        if self.source == "pool":
            return draws.below(len(_pool_of(batch)), len(batch))
        return draws.uniform(batch.x.shape[0]).argsort()  # not randperm, by which inductor cannot index


@dataclass(frozen=True)
class DistanceQuantile:
    """σ(i) uniform over {j : D_ij ≤ θ} (lower) or {j : D_ij > θ} (higher), and always i itself.

    D holds all n² distances of the batch, the zeros of the diagonal included, and θ is their q-quantile (the
    paper's distance study). Lower 1 and higher 0 give uniform partners; lower 0 and higher 1 give none.

    Attributes:
        q: the quantile, in [0, 1].
        side: ``"lower"`` or ``"higher"``.
        space: where distances are measured, as for the similarity kernel.

    """

    q: float = 0.5
    side: str = "lower"
    space: Space | None = None
    source: ClassVar[str] = "batch"

    def __post_init__(self) -> None:
        checks.fraction("q", self.q)
        checks.known("side", self.side, SIDES)
        check_space(self.space)

    @property
    def needs_embeddings(self) -> bool | None:
        """Whether embeddings are used; ``None`` where that depends on the task."""
        return None if self.space is None else self.space == "embedding"

    def __call__(self, batch: Batch, draws: Draws) -> Tensor:
        n = batch.x.shape[0]
        distance = all_distances(batch.features(self.space))
        threshold = quantile(distance.flatten(), self.q)
        admissible = distance <= threshold if self.side == "lower" else distance > threshold
        admissible = admissible | torch.eye(n, dtype=torch.bool, device=draws.device)
        # The largest of independent uniform numbers is equally likely to be any of them.
        return torch.where(admissible, draws.uniform(n, n), -1.0).argmax(1)


def quantile(values: Tensor, q: float) -> Tensor:
    """The largest of ``values`` that is at most their q-quantile: it divides them as the quantile does.

    ``torch.quantile`` refuses more than 16 million values, and so batches of more than 4096 samples.

    >>> quantile(torch.tensor([3.0, 0.0, 2.0, 0.0]), 0.7)
    tensor(2.)
    """
    return values.kthvalue(1 + int(q * (values.numel() - 1))).values


@dataclass(frozen=True)
class LabelDensity:
    """P(σ(i) = j) ∝ exp(-‖y_i - y_j‖² / (2h²)) over the training set, i itself included (C-Mixup).

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

    def __call__(self, batch: Batch, draws: Draws) -> Tensor:
        if batch.classification:
            raise ValueError("label-density pairs (C-Mixup) need real targets, got class labels")
        if checks.readable(batch.y):
            _reject_infinite(batch.y)
        labels = batch.y if self.source == "batch" else _pool_of(batch).y
        share = density(as_rows(batch.y), as_rows(labels).to(batch.y.device), self.bandwidth).cumsum(1)
        level = (1 - draws.uniform(len(batch), 1)) * share[:, -1:]  # in (0, total]
        # A label that is NaN, where none may be looked at, finds no place: it makes the loss NaN by itself.
        return torch.searchsorted(share, level).squeeze(1).clamp(max=len(labels) - 1)

    def fit(self, y: Tensor) -> LabelDensity:
        """The same component, once the labels of the training set are known to be finite."""
        if not y.is_meta:
            _reject_infinite(y)
        return self


def _reject_infinite(y: Tensor) -> None:
    finite = as_rows(y).isfinite().all(1)
    if not bool(finite.all()):
        raise ValueError(
            f"y must be finite for C-Mixup, got NaN or infinity in row {int(finite.int().argmin())}"
        )


def density(points: Tensor, labels: Tensor, bandwidth: float) -> Tensor:
    """exp(-‖p_i - y_j‖² / (2h²)) of shape (n, N), scaled by row so that its largest entry is 1.

    >>> density(torch.tensor([[0.0]]), torch.tensor([[0.0], [1.0]]), bandwidth=1.0)
    tensor([[1.0000, 0.6065]], dtype=torch.float64)
    """
    # In units of h and in float64: the usual ‖a‖² + ‖b‖² - 2ab loses small differences of large labels.
    gap = torch.cdist(
        points.double() / bandwidth, labels.double() / bandwidth, compute_mode="donot_use_mm_for_euclid_dist"
    )
    exponent = -0.5 * gap.square()
    # e^-60 changes no sum of float64; smaller weights would only cost time, as subnormal numbers.
    return (exponent - exponent.amax(1, keepdim=True)).clamp(min=-60).exp()


@dataclass(frozen=True)
class OptimalTransport:
    """σ matches every block of k samples with its image under π at the least total cost (k-Mixup).

    π is a uniform permutation; k = 1 is random pairing. The assignment is solved on the CPU, which makes this
    the one component that waits for the device.

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
        check_space(self.space)

    @property
    def needs_embeddings(self) -> bool:
        """Whether embeddings are used."""
        return self.space == "embedding"

    def __call__(self, batch: Batch, draws: Draws) -> Tensor:
        partner = RandomPairs(self.source)(batch, draws)
        if self.k == 1:
            return partner
        points, others, index = batch.pair_features(partner, self.space)
        order = match_blocks(as_rows(points), as_rows(others)[index], self.k, self.squared)
        return partner[order]


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


@match_blocks.register_vmap
def _(
    info: Any, axes: tuple[int | None, ...], points: Tensor, others: Tensor, k: int, squared: bool
) -> tuple[Tensor, int]:
    """Models that train together are matched one after the other."""
    points, others = (
        values.expand(info.batch_size, *values.shape) if axis is None else values.movedim(axis, 0)
        for values, axis in zip((points, others), axes[:2], strict=True)
    )
    return torch.stack([match_blocks(*rows, k, squared) for rows in zip(points, others, strict=True)]), 0


def _pool_of(batch: Batch) -> Pool:
    if batch.pool is None:
        raise ValueError(
            "partners come from the pool, but there is none: call fit(x, y) with the training set"
        )
    return batch.pool
