"""How similar two points are: the rescaled distance d̄ (Eq. 5) and the similarity kernel τ (Eq. 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from tailormix import checks

if TYPE_CHECKING:
    from torch import Tensor
    from torch.distributed import ProcessGroup

STEEPEST = 1e30  # the slope 1/(2 τ_std²) is capped here, so that 0·∞ cannot arise at d̄ = 1


def pair_distance(
    z: Tensor,
    partner: Tensor,
    *,
    partners: Tensor | None = None,
    squared: bool = True,
    group: ProcessGroup | None = None,
) -> Tensor:
    """d̄_i = ‖z_i - z_σ(i)‖² / mean_j ‖z_j - z_σ(j)‖² (Eq. 5): 1 is the average distance of the batch.

    Args:
        z: points, (n, ...); all axes but the first are summed over.
        partner: σ, (n,), indices into ``partners``.
        partners: where the partners come from; ``z`` itself by default.
        squared: ``False`` uses ‖·‖ in place of ‖·‖², as the authors' toy scripts do.
        group: also average over the ranks of this process group.

    Returns:
        (n,) in float32 (float64 for float64 points). Where the mean distance is 0, d̄ is 1 for every pair.

    >>> pair_distance(torch.tensor([[0.0], [1.0], [3.0]]), torch.tensor([1, 2, 0]))
    tensor([0.2143, 0.8571, 1.9286])

    """
    others = (z if partners is None else partners)[partner]
    return relative(euclidean(z, others), squared=squared, group=group)


def relative(distance: Tensor, *, squared: bool = True, group: ProcessGroup | None = None) -> Tensor:
    """Distances (n,) as multiples of their mean over the batch (and over the ranks of ``group``).

    They are squared first, unless ``squared`` is false. Where the mean is 0 the result is 1.
    """
    if checks.readable(distance) and not bool(distance.isfinite().all()):
        row = int((~distance.isfinite()).nonzero()[0])
        raise ValueError(f"embeddings must be finite, got NaN or infinity in row {row} or in its partner's")
    largest = distance.max()
    if group is not None:
        torch.distributed.all_reduce(largest, torch.distributed.ReduceOp.MAX, group=group)
    share = distance / largest  # at most 1, so that squares neither overflow nor vanish
    share = share.square_() if squared else share
    mean = share.mean() if group is None else _mean_over(share, group)
    return torch.where(largest > 0, share / mean, 1.0)


def euclidean(a: Tensor, b: Tensor) -> Tensor:
    """‖a_i - b_i‖ of shape (n,), without overflow in any floating dtype.

    >>> euclidean(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
    tensor([5.])
    """
    difference = rows_of(a) - rows_of(b)
    # Squares leave the range of float32 beyond 1e19; divided by the largest difference they cannot.
    # (aminmax takes a thirtieth of the time of vector_norm(inf) on a CPU.)
    low, high = torch.aminmax(difference)
    largest = torch.maximum(high, -low).clamp_(min=torch.finfo(difference.dtype).tiny)
    length: Tensor = torch.linalg.vector_norm(difference.div_(largest), dim=1)
    return length.mul_(largest)


def _mean_over(values: Tensor, group: ProcessGroup) -> Tensor:
    """The mean over the values of all ranks, which may hold different numbers of them."""
    sums: Tensor = torch.stack((values.sum(), values.new_full((), values.numel())))
    torch.distributed.all_reduce(sums, group=group)
    return sums[0] / sums[1]


def similarity_kernel(distance: Tensor, tau_max: float, tau_std: float) -> Tensor:
    """τ = τ_max · exp(-(d̄ - 1) / (2 τ_std²)) (Eq. 4): above τ_max for similar pairs, below it for others.

    >>> similarity_kernel(torch.tensor([0.5, 1.0, 1.5]), tau_max=1.0, tau_std=0.5)
    tensor([2.7183, 1.0000, 0.3679])
    """
    checks.non_negative("tau_max", tau_max)
    checks.positive("tau_std", tau_std)
    if tau_max == 0:
        return torch.zeros_like(distance)
    slope = min(0.5 / tau_std**2, STEEPEST) if tau_std**2 > 0 else STEEPEST
    return torch.exp((1 - distance) * slope) * tau_max


def all_distances(points: Tensor) -> Tensor:
    """‖z_i - z_j‖ of shape (n, n): symmetric to the last bit, with zeros on the diagonal; points are (n, d).

    >>> all_distances(torch.tensor([[120.0], [123.0]]))
    tensor([[0., 3.],
            [3., 0.]])
    """
    # Around the origin, since cdist's ‖a‖² + ‖b‖² - 2ab loses the differences of points far from it; and it
    # may round the two sides of the diagonal differently.
    centred = points - points.mean(0)
    distance = torch.cdist(centred, centred).fill_diagonal_(0)
    return torch.maximum(distance, distance.T)


def rows_of(z: Tensor) -> Tensor:
    """(n, ...) → (n, d), detached, in a precision that holds distances."""
    z = z.detach().reshape(z.shape[0], -1)
    return z if z.dtype == torch.float64 else z.float()
