"""How similar two points are: the rescaled distance d̄ (Eq. 5) and the similarity kernel τ (Eq. 4)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from tailormix import checks
from tailormix.kept import scalar
from tailormix.plan import take

if TYPE_CHECKING:
    from torch import Tensor
    from torch.distributed import ProcessGroup

STEEPEST = 1e30  # the slope 1/(2 τ_std²) is capped here, so that 0·∞ cannot arise at d̄ = 1
TINY, HUGE = 1e-18, 1e18  # sums of (squared) distances between which float32 is precise
SMALLEST, LARGEST = 1e-37, 1e38  # likewise for τ_max > 0, which float32 must hold


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
    if partner.shape != z.shape[:1]:
        raise ValueError(f"partner must have shape {tuple(z.shape[:1])}, got {tuple(partner.shape)}")
    others = take(z if partners is None else partners, partner)
    dtype = torch.float64 if z.dtype == torch.float64 else torch.float32
    return relative_distance(z, others, squared=squared, group=group, dtype=dtype)


def relative_distance(
    a: Tensor,
    b: Tensor,
    *,
    squared: bool = True,
    group: ProcessGroup | None = None,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """‖a_i - b_i‖², or without the square, as multiples of the mean over the batch (and ranks of ``group``).

    Where the mean is 0 the result is 1. ``b``, the partners' own copy, is written over: what a batch pays for
    is the memory that it touches.
    """
    difference = rows_of(b)
    difference = difference.sub_(rows_of(a)) if difference.dtype == dtype else difference - rows_of(a)
    if group is None and difference.dtype == dtype and checks.readable(difference):
        # Few operations, which is what small batches pay for; exact enough for all but extreme points.
        distance = _length(difference).square_() if squared else _length(difference)
        total = distance.sum()
        if TINY < total.item() < HUGE:
            return distance.mul_(scalar(float(len(distance)), total) / total)
    distance = _wide_length(difference)
    if squared:
        distance = distance.square()
    mean = distance.mean() if group is None else _mean_over(distance, group)
    ratio = (distance / mean).nan_to_num_(nan=1.0)  # 0/0 is the one NaN that finite points give
    return ratio if ratio.dtype == dtype else ratio.to(dtype)


def euclidean(a: Tensor, b: Tensor) -> Tensor:
    """‖a_i - b_i‖ of shape (n,), in float64 wherever squares might overflow or vanish in float32.

    >>> euclidean(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
    tensor([5.])
    >>> euclidean(torch.tensor([[0.0, 0.0]]), torch.tensor([[3e30, 4e30]]))
    tensor([5.0000e+30], dtype=torch.float64)
    """
    difference = rows_of(a) - rows_of(b)
    if checks.readable(difference):
        length = _length(difference)
        if TINY < length.sum().item() < HUGE:
            return length
    return _wide_length(difference)


def _length(difference: Tensor) -> Tensor:
    """‖difference_i‖, in the precision of the points."""
    length: Tensor = torch.linalg.vector_norm(difference, dim=1)
    return length


def _wide_length(difference: Tensor) -> Tensor:
    """‖difference_i‖, in float64, so that squares of any float32 neither overflow nor vanish."""
    wide = torch.float32 if difference.device.type == "mps" else torch.float64  # the one device without it
    length: Tensor = torch.linalg.vector_norm(difference, dim=1, dtype=wide)
    if checks.readable(length) and not math.isfinite(length.sum().item()):
        row = int((~length.isfinite()).nonzero()[0])
        raise ValueError(
            f"embeddings (or x or y, where space= says so) must be finite, got NaN or infinity in row {row} "
            "or in its partner's"
        )
    return length


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
    slope = min(0.5 / tau_std / tau_std, STEEPEST)
    kernel = torch.rsub(distance, scalar(1.0, distance)).mul_(scalar(slope, distance)).exp_()
    return kernel if tau_max == 1 else kernel.mul_(scalar(min(max(tau_max, SMALLEST), LARGEST), distance))


def all_squared(points: Tensor) -> Tensor:
    """‖z_i - z_j‖² of shape (n, n): symmetric to the last bit, with zeros on the diagonal.

    >>> all_squared(torch.tensor([[120.0], [123.0]]))
    tensor([[0., 9.],
            [9., 0.]])
    """
    rows = rows_of(points)
    # Around the origin, since ‖a‖² + ‖b‖² - 2ab loses the differences of points far from it.
    rows = rows - rows.mean(0)
    lengths = rows.square().sum(1)
    squares = (lengths[:, None] + lengths).addmm_(rows, rows.T, alpha=-2)
    return torch.maximum(squares, squares.T).clamp_(min=0).fill_diagonal_(0)


def rows_of(z: Tensor) -> Tensor:
    """(n, ...) → (n, d), detached, in a precision that holds distances."""
    if z.requires_grad:
        z = z.detach()
    if z.dim() != 2:
        z = z.reshape(z.shape[0], math.prod(z.shape[1:]))
    return z if z.dtype in (torch.float32, torch.float64) else z.float()
