"""How similar two points are: the rescaled distance d̄ (Eq. 5) and the similarity kernel τ (Eq. 4)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NoReturn

import torch

from tailormix import checks

if TYPE_CHECKING:
    from torch import Tensor
    from torch.distributed import ProcessGroup

STEEPEST = 1e30  # caps the slope 1/(2 τ_std²), so that 0·∞ cannot arise at d̄ = 1
LARGEST_EXPONENT = 80.0  # e^±80 lie within float32, so that neither 0·∞ nor ∞·0 can arise with τ_max


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
    points = z.detach() if z.is_floating_point() and z.itemsize >= 4 else z.detach().float()
    others = points if partners is None else partners.detach()
    difference = (points - others.index_select(0, partner)).reshape(len(z), math.prod(z.shape[1:]))
    # In float64, where squares of float32 neither overflow nor vanish; one kind of device has none.
    wide = torch.float32 if z.device.type == "mps" else torch.float64
    length: Tensor = torch.linalg.vector_norm(difference, dim=1, dtype=wide)
    distance = length.square() if squared else length
    mean = distance.mean() if group is None else _mean_over(distance, group)
    readable = mean.is_cpu and not torch.compiler.is_compiling() and not checks.TRUSTING.get()
    if readable and not math.isfinite(mean.item()) and len(z):
        _reject_points(~distance.isfinite(), " or in its partner's")
    relative = (distance / mean).nan_to_num(1.0)  # 0 / 0 where all points are equal
    return relative.to(torch.float64 if z.dtype == torch.float64 else torch.float32)


def _reject_points(bad: Tensor, where: str = "") -> NoReturn:
    what = "embeddings (or x or y, where space= says so) must be finite"
    raise ValueError(f"{what}, got NaN or infinity in row {int(bad.nonzero()[0])}{where}")


def all_distances(z: Tensor) -> Tensor:
    """‖z_i - z_j‖ of shape (n, n), symmetric, with zeros on the diagonal.

    >>> all_distances(torch.tensor([[120.0], [123.0]]))
    tensor([[0., 3.],
            [3., 0.]])
    """
    rows = as_rows(z)
    if checks.readable(rows) and not bool(rows.isfinite().all()):
        _reject_points(~rows.isfinite().all(1))
    # Not by ‖a‖² + ‖b‖² - 2ab, which loses the differences of points far from the origin.
    return torch.cdist(rows, rows, compute_mode="donot_use_mm_for_euclid_dist")


def as_rows(z: Tensor) -> Tensor:
    """(n, ...) → (n, d), detached, in float32 or float64."""
    rows = z.detach().reshape(z.shape[0], math.prod(z.shape[1:]))
    return rows if rows.dtype == torch.float64 else rows.float()


def similarity_kernel(distance: Tensor, tau_max: float | Tensor, tau_std: float | Tensor) -> Tensor:
    """τ = τ_max · exp(-(d̄ - 1) / (2 τ_std²)) (Eq. 4): above τ_max for similar pairs, below it for others.

    ``tau_max`` and ``tau_std`` may be 0-d tensors, which are taken as they are.

    >>> similarity_kernel(torch.tensor([0.5, 1.0, 1.5]), tau_max=1.0, tau_std=0.5)
    tensor([2.7183, 1.0000, 0.3679])
    """
    if type(tau_max) is not float or not 0 <= tau_max < math.inf:
        checks.strength("tau_max", tau_max)
    if isinstance(tau_std, torch.Tensor):
        slope: Tensor | float = (0.5 / tau_std / tau_std).clamp(max=STEEPEST)
    else:
        if type(tau_std) is not float or not 0 < tau_std < math.inf:
            checks.positive("tau_std", tau_std)
        slope = min(0.5 / tau_std / tau_std, STEEPEST)
    exponent = -slope * ((distance if distance.dtype == torch.float64 else distance.float()) - 1)
    return tau_max * exponent.clamp(-LARGEST_EXPONENT, LARGEST_EXPONENT).exp()


def _mean_over(values: Tensor, group: ProcessGroup) -> Tensor:
    """The mean over the values of all ranks, which may hold different numbers of them."""
    sums: Tensor = torch.stack((values.sum(), values.new_full((), values.numel())))
    torch.distributed.all_reduce(sums, group=group)
    return sums[0] / sums[1]
