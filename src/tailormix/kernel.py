"""How similar two points are: the rescaled distance d̄ (Eq. 5) and the similarity kernel τ (Eq. 4)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, float32, float64, rsub
from torch.compiler import is_dynamo_compiling

from tailormix import checks
from tailormix.batch import take
from tailormix.kept import PRECISE, kept_outside, number, readable, scalar, transformed
from tailormix.warping import steepness

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

    KernelLine = tuple[float, float, Tensor]

mse_loss: Any = torch._C._nn.mse_loss  # what torch.nn.functional calls, after it has broadcast the shapes
NARROW = 128  # width up to which distances pair by pair are faster than by matrix products
ELEMENTWISE, MEAN = 0, 1  # as torch numbers reductions
NOT_FINITE = "embeddings (or x or y, where space= says so) must be finite, got NaN or infinity in row"
SHARP = 100.0  # slope from which rounding moves a pair of average distance
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
    double = z.dtype == torch.float64
    return relative_distance(z, z if partners is None else partners, partner, squared, group, double)


def relative_distance(
    a: Tensor,
    b: Tensor,
    partner: Tensor,
    squared: bool = True,
    group: ProcessGroup | None = None,
    double: bool = False,
) -> Tensor:
    """‖a_i - b_σ(i)‖², or without the square, as multiples of their mean (also over the ranks of ``group``).

    Where the mean is 0 the result is 1. It is in float32, unless ``double`` precision is wanted.
    """
    distance, unit = distance_and_unit(a, b, partner, squared, group, double)
    return distance if unit == 1 else distance.div_(scalar(unit, distance))


def distance_and_unit(
    a: Tensor,
    b: Tensor,
    partner: Tensor,
    squared: bool = True,
    group: ProcessGroup | None = None,
    double: bool = False,
) -> tuple[Tensor, float]:
    """:func:`relative_distance` before it is divided by the unit: the mean, where that is free to read.

    Small batches pay for operations, and who goes on computing can divide on the way. (Compiled ones pay for
    every name that is looked up on the way, since the compiler guards them all in every call.)
    """
    if a.is_cpu and not is_dynamo_compiling():
        if group is None and (a.dtype is float64) == double and type(a) is Tensor and not transformed():
            # Few operations, exact enough for all but extreme points.
            if a is b and a.dim() == 2 and a.dtype is float32 and not a.requires_grad:
                others = a.index_select(0, partner)
                distance = mse_loss(others, a, ELEMENTWISE, out=others).sum(1)
            else:
                distance = _narrow_squares(a, b, partner)
            if not squared:
                distance.sqrt_()
            unit = distance.sum().item() / (partner.shape[0] or 1)
            if TINY < unit < HUGE:
                return distance, unit
        length = _wide_length(_differences(a, b, partner))
        distance = length.square() if squared else length
    else:
        # Where nobody can look, points are taken to be of reasonable size: float64 is slow on many devices.
        squares = _differences(a, b, partner).square().sum(1)
        distance = squares if squared else squares.sqrt()
    mean = distance.mean() if group is None else _mean_over(distance, group)
    ratio = (distance / mean).where((mean > 0) & mean.isfinite(), 1.0)
    return ratio.double() if double else ratio.float(), 1.0


def euclidean(a: Tensor, b: Tensor, partner: Tensor) -> Tensor:
    """‖a_i - b_σ(i)‖ of shape (n,), in float64 wherever squares might overflow or vanish in float32.

    >>> euclidean(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]), torch.tensor([0]))
    tensor([5.])
    >>> euclidean(torch.tensor([[0.0, 0.0]]), torch.tensor([[3e30, 4e30]]), torch.tensor([0]))
    tensor([5.0000e+30], dtype=torch.float64)
    """
    if readable(a):
        squares = _narrow_squares(a, b, partner)
        if TINY < squares.sum().item() < HUGE:
            return squares.sqrt_()
    return _wide_length(_differences(a, b, partner))


def _narrow_squares(a: Tensor, b: Tensor, partner: Tensor) -> Tensor:
    """‖a_i - b_σ(i)‖², in the precision of the points, with one further copy of them."""
    a, others = rows_of(a), rows_of(take(b, partner))
    if a.dtype != others.dtype:
        return (others - a).square_().sum(1).to(a.dtype)
    squares: Tensor = mse_loss(others, a, ELEMENTWISE, out=others)
    return squares.sum(1)


def _differences(a: Tensor, b: Tensor, partner: Tensor) -> Tensor:
    """b_σ(i) - a_i, (n, d)."""
    return rows_of(take(b, partner)) - rows_of(a)


def _wide_length(difference: Tensor) -> Tensor:
    """‖difference_i‖, in float64, so that squares of any float32 neither overflow nor vanish."""
    wide = torch.float32 if difference.device.type == "mps" else torch.float64  # the one device without it
    length: Tensor = torch.linalg.vector_norm(difference, dim=1, dtype=wide)
    if readable(length) and not math.isfinite(length.sum().item()):
        row = int((~length.isfinite()).nonzero()[0])
        raise ValueError(f"{NOT_FINITE} {row} or in its partner's")
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
    if not distance.is_floating_point():
        distance = distance.float()
    if distance.dtype not in PRECISE:
        return trusted_kernel(distance.float(), tau_max, tau_std).to(distance.dtype)
    return trusted_kernel(distance, tau_max, tau_std)


def trusted_kernel(distance: Tensor, tau_max: float, tau_std: float) -> Tensor:
    """:func:`similarity_kernel` of numbers that were checked before, in float32 or float64."""
    if tau_max == 0:
        return torch.zeros_like(distance)
    slope = min(0.5 / tau_std / tau_std, STEEPEST)
    kernel = torch.rsub(distance, scalar(slope, distance), alpha=slope).exp_()  # 1 exactly where d̄ = 1
    return kernel if tau_max == 1 else kernel.mul_(scalar(_representable(tau_max), distance))


def kernel_line(tau_max: float, tau_std: float) -> KernelLine:
    """Slope, middle and start of the steepness of ω_τ, which is linear in the distance for the τ of Eq. 4.

    -½ log(9τ) = -½ log(9 τ_max) + (d̄ - 1) / (4 τ_std²); the middle is at d̄ = 1, the start at d̄ = 0.
    """
    slope, middle = min(0.25 / tau_std / tau_std, STEEPEST), steepness(tau_max)
    return slope, middle, number(middle - slope, float32)


def kernel_steepness(distance: Tensor, unit: float, line: KernelLine) -> Tensor:
    """The steepness of ω_τ at ``distance`` / ``unit`` on a :func:`kernel_line`, without a detour over τ."""
    slope, middle, start = line
    if unit == 1:
        return (distance - 1.0).mul_(slope).add_(middle)
    if slope > SHARP:  # where one sum would lose the middle, on which equal distances depend
        return (distance / unit).sub_(1.0).mul_(slope).add_(middle)
    # With a unit of its own, the distance lies where a kept number is the cheapest.
    return rsub(distance, start, alpha=-slope / unit)


def _representable(tau_max: float) -> float:
    return min(max(tau_max, SMALLEST), LARGEST)


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


def ordered_pairs(points: Tensor) -> Tensor:
    """Numbers in the order of the distances of all pairs i < j, row by row, (n(n-1)/2,).

    >>> ordered_pairs(torch.tensor([[120.0], [123.0], [121.0]])).argsort()
    tensor([1, 2, 0])
    """
    rows = rows_of(points)
    if rows.shape[1] <= NARROW:
        return torch.pdist(rows)
    return all_squared(rows).flatten().index_select(0, _above_diagonal(len(rows), rows.device))


@kept_outside
def _above_diagonal(n: int, device: torch.device) -> Tensor:
    """Where the entries above the diagonal of an n × n matrix lie in its memory."""
    rows, columns = torch.triu_indices(n, n, 1, device=device).unbind()
    return rows * n + columns


def rows_of(z: Tensor) -> Tensor:
    """(n, ...) → (n, d), detached, in a precision that holds distances."""
    z = z.detach()
    if z.dim() != 2:
        z = z.reshape(z.shape[0], math.prod(z.shape[1:]))
    return z if z.is_floating_point() and z.itemsize >= 4 else z.float()
