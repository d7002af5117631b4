"""Warping functions ω_τ: bijections of [0, 1] that turn uniform draws into mixing coefficients (Eq. 2)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.compiler import is_dynamo_compiling
from torch.nn import functional

from tailormix import checks
from tailormix.kept import PRECISE, constant, kept, one, readable
from tailormix.tables import shipped_ratio

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

LIMIT = 1e30  # stands for an infinite logit, so that 0·∞ and ∞/∞ never arise
CEILING = 1e24  # stands for τ = ∞, its inverse for τ = 0; below LIMIT, so that λ = 0 and λ = 1 stay fixed
HIGHEST_Q = 1e12  # 1/√τ at its end
BILINEAR, BORDER = 0, 1  # as torch numbers them
INVERSION_STEPS = 4
nearly_one = constant("nearly_one", 1 - 2**-24)
HIGHEST_LOG = 80.0  # e^80 is beyond LIMIT and within float32


def warp(lam: Tensor | float, tau: Tensor | float, kind: str = "inverse_beta", exact: bool = False) -> Tensor:
    r"""ω_τ(λ), element by element; ``lam`` and ``tau`` broadcast.

    =================  ============================================  ===============================
    ``kind``           ω_τ(λ)                                        λ ~ U(0, 1) gives
    =================  ============================================  ===============================
    ``inverse_beta``   I⁻¹_λ(τ, τ), the Beta(τ, τ) quantile (Eq. 2)  Beta(τ, τ)
    ``beta``           I_λ(1/τ, 1/τ), the Beta(1/τ, 1/τ) CDF         more mass at 0 and 1 as τ → 0
    ``sigmoid``        σ(logit(λ) / τ)                               likewise
    =================  ============================================  ===============================

    Every ω_τ fixes 0, ½ and 1; τ → 0 gives a step at ½, τ → ∞ gives ½ everywhere inside (0, 1). The sigmoid
    printed in the paper, 1/(1+e^{λ/τ}), is no bijection of [0, 1]; the one here is.

    Args:
        lam: values in [0, 1], any shape, any floating dtype and device.
        tau: values in [0, ∞].
        kind: which family of warps.
        exact: evaluate with scipy on the CPU (which synchronises with the device) instead of by table. The
            table needs torch alone, and its points lie on the graph of ω_τ up to 2e-6.

    Returns:
        A tensor of the broadcast shape, with the dtype and device of ``lam``.

    >>> warp(torch.tensor([0.1, 0.25, 0.5]), 2.0)
    tensor([0.1958, 0.3264, 0.5000])

    """
    if kind not in WARPS:
        checks.known("kind", kind, WARPS)
    lam, tau = _operands(lam, tau)
    if lam.numel() == 0:
        return torch.empty_like(lam)
    if exact or kind != "inverse_beta":
        _check_values(lam, tau)
        return exact_warp(lam, tau, kind) if exact else WARPS[kind](lam, tau)
    result = inverse_beta(lam, tau)
    # Values outside the domain give NaN, which a minimum keeps: they are looked at only where that happens.
    if readable(result) and math.isnan(result.min().item()):
        _check_values(lam, tau)
    return result


def _operands(lam: Tensor | float, tau: Tensor | float) -> tuple[Tensor, Tensor]:
    """Both as tensors of one shape."""
    if not isinstance(lam, torch.Tensor):
        lam = torch.as_tensor(lam, dtype=torch.get_default_dtype())
    if not lam.is_floating_point():
        raise TypeError(f"lam must be a floating-point tensor, got dtype {lam.dtype}")
    if not isinstance(tau, torch.Tensor):
        # Not in the dtype of lam: half precision would turn 1e5 into ∞ and move every quantile.
        tau = torch.full((), checks.number("tau", tau), dtype=_working(lam.dtype), device=lam.device)
    if lam.shape != tau.shape:
        shape = np.broadcast_shapes(lam.shape, tau.shape)
        return lam.expand(shape), tau.expand(shape)
    return lam, tau


def _check_values(lam: Tensor, tau: Tensor) -> None:
    if not (readable(lam) and readable(tau)):
        return
    low, high = (bound.item() for bound in lam.detach().aminmax())
    if not (low >= 0 and high <= 1):
        raise ValueError(f"lam must lie in [0, 1], got values from {low} to {high}")
    if not (lowest := tau.detach().min().item()) >= 0:
        raise ValueError(f"tau must be >= 0, got {lowest}")


def inverse_beta(lam: Tensor, tau: Tensor) -> Tensor:
    """The Beta(τ, τ) quantile at λ by table: logit ω = logit λ · (q + q²) · ρ, q = 1/√τ, with ρ interpolated.

    Unchecked; ``lam`` and ``tau`` of one shape. Small batches pay per operation, not per number: the closed
    form, the coordinates of the table and -½ logit λ in place of logit λ were chosen to need few of them.
    """
    dtype = lam.dtype
    if dtype not in PRECISE:
        return inverse_beta(lam.float(), tau).to(dtype)
    if tau.dtype != dtype:
        tau = tau.to(dtype)
    # -½ logit λ = atanh(1 - 2λ): odd about ½ to the last bit, as a logit in float32 would not be. λ below
    # 2⁻²⁵ counts as 0, and λ is rounded to 2⁻²⁴ near it; uniform draws are multiples of that anyway.
    level = torch.rsub(lam, one(), alpha=2).atanh()  # torch has no derivative of it in place
    q = tau.rsqrt().clamp(1 / HIGHEST_Q, HIGHEST_Q)  # NaN, which stays, where τ < 0
    return _interpolate(level, q).mul_(level).mul_(torch.addcmul(q, q, q)).sigmoid_()


def beta_draw(u: Tensor, q: Tensor) -> Tensor:
    """A draw from Beta(τ, τ), q = 1/√τ in [0, ∞], for each draw u of ``torch.rand``, by :func:`inverse_beta`.

    On a CPU such a u is a multiple of 2⁻²⁴ and stands for the interval up to the next one; its middle is
    taken. That is never 0, ½ or 1, so no product is 0·∞ and nothing needs to be clamped. Other generators
    have finer draws below ½, one of which becomes ½.
    """
    if is_dynamo_compiling() or not u.is_cpu:
        q = q.clamp(max=HIGHEST_Q)
    level = torch.rsub(u, nearly_one(), alpha=2).atanh_()
    return _interpolate(level, q).mul_(level).mul_(torch.addcmul(q, q, q)).sigmoid_()


def beta(lam: Tensor, tau: Tensor) -> Tensor:
    """The Beta(1/τ, 1/τ) CDF at λ: the table of :func:`inverse_beta`, read backwards; carries no gradient.

    Finds L = logit ω with L·ρ(L) = logit λ / (q + q²), q = √τ, by the secant rule on logarithmic scales,
    where the slope of L ↦ L·ρ lies between ½ and 1.3: four steps reach the last digit from any start.
    """
    dtype = _working(lam.dtype)
    q = tau.detach().to(dtype).clamp(1 / CEILING, CEILING).sqrt_()
    goal = _logit(lam.detach(), dtype).clamp_(-LIMIT, LIMIT) / torch.addcmul(q, q, q)

    def rho(level: Tensor) -> Tensor:
        return _interpolate(level * -0.5, q).mul_(-0.5)

    aim = goal.abs().clamp(1 / LIMIT, LIMIT).log()
    before, miss_before = aim, rho(aim.exp()).log()
    now = (before - miss_before).clamp(max=HIGHEST_LOG)
    for _ in range(INVERSION_STEPS):
        miss = now + rho(now.exp()).log() - aim
        slope = ((miss - miss_before) / (now - before)).nan_to_num(1.0).clamp(0.4, 1.5)
        before, miss_before, now = now, miss, (now - miss / slope).clamp(max=HIGHEST_LOG)
    return (goal / rho(now.exp())).sigmoid().to(lam.dtype)


def sigmoid(lam: Tensor, tau: Tensor) -> Tensor:
    """σ(logit(λ)/τ), with 0, ½ and 1 fixed for every τ."""
    dtype = _working(lam.dtype)
    logit = _logit(lam, dtype).clamp_(-LIMIT, LIMIT)
    return (logit / tau.to(dtype).clamp(1 / CEILING, CEILING)).sigmoid_().to(lam.dtype)


WARPS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "inverse_beta": inverse_beta,
    "beta": beta,
    "sigmoid": sigmoid,
}


def exact_warp(lam: Tensor, tau: Tensor, kind: str) -> Tensor:
    """The same functions in float64 by scipy, on the CPU."""
    from tailormix import exact

    result = exact.WARPS[kind](lam.detach().double().cpu().numpy(), tau.detach().double().cpu().numpy())
    return torch.as_tensor(result, dtype=lam.dtype, device=lam.device)


def _working(dtype: torch.dtype) -> torch.dtype:
    return torch.float64 if dtype == torch.float64 else torch.float32


def _logit(lam: Tensor, dtype: torch.dtype) -> Tensor:
    """Logit λ, rounded only once: in float32 alone, logit(1-λ) = -logit(λ) would fail near ½."""
    if lam.device.type == "mps":  # the one device without float64
        return torch.logit(lam.to(dtype))
    return torch.logit(lam.double()).to(dtype)


def _interpolate(level: Tensor, q: Tensor) -> Tensor:
    """-2ρ at half a logit and at q = 1/√τ, bilinearly."""
    if is_dynamo_compiling():
        return _fused(level, q)
    n = level.numel()
    both = (level, q) if level.dim() == 1 else (level.reshape(n), q.reshape(n))
    # ρ is even in the logit; 1/(1+∞) is 0, without a clamp.
    near = torch.cat(both).abs_().add_(one()).reciprocal_()
    grid = near.as_strided((1, 1, n, 2), (2 * n, 2 * n, 1, n))
    return torch.grid_sampler(_table(level.device, level.dtype), grid, BILINEAR, BORDER, True).view_as(level)


def _fused(level: Tensor, q: Tensor) -> Tensor:
    """The same from plain arithmetic, which a compiler fuses better than it fuses torch's sampler."""
    table = _table(level.device, level.dtype)
    cells = table.shape[-1] // 2
    columns, rows = cells / (1 + level.abs()), cells / (1 + q)
    column, row = (place.to(torch.int32).clamp(0, cells - 1) for place in (columns, rows))
    flat, corner = table.view(-1), (row + cells) * table.shape[-1] + column + cells
    share = columns - column
    near, far = (
        torch.lerp(flat[start], flat[start + 1], share) for start in (corner, corner + table.shape[-1])
    )
    return torch.lerp(near, far, rows - row)


@kept  # numpy enters no graph
def _table(device: torch.device, dtype: torch.dtype) -> Tensor:
    """-2ρ over (1/(1+|L|/2), 1/(1+q)) in [0, 1]², a quarter of the image; the others are never read."""
    rho = torch.from_numpy(shipped_ratio() * -2).flip(0, 1).T
    image = functional.pad(rho, (len(rho) - 1, 0, len(rho) - 1, 0))
    return image[None, None].to(device=device, dtype=dtype)
