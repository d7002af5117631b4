"""Warping functions ω_τ: bijections of [0, 1] that turn uniform draws into mixing coefficients (Eq. 2)."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn.functional import grid_sample

from tailormix import checks
from tailormix.tables import beta_quantile_ratio

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

LIMIT = 1e30  # stands for an infinite logit, so that 0·∞ and ∞/∞ never arise
CEILING = (
    1e24  # stands for τ = ∞, its inverse for τ = 0; far enough below LIMIT to keep λ = 0 and λ = 1 fixed
)
LOWEST, HIGHEST, OFFSETS = (-LIMIT, 1 / CEILING), (LIMIT, CEILING), (2.0, 0.5)
INVERSION_STEPS = 4
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
            table needs torch alone, and its points lie on the graph of ω_τ up to 1.1e-6.

    Returns:
        A tensor of the broadcast shape, with the dtype and device of ``lam``.

    >>> warp(torch.tensor([0.1, 0.25, 0.5]), 2.0)
    tensor([0.1958, 0.3264, 0.5000])

    """
    if kind not in WARPS:
        checks.known("kind", kind, WARPS)
    lam, tau = _operands(lam, tau)
    return exact_warp(lam, tau, kind) if exact else WARPS[kind](lam, tau)


def _operands(lam: Tensor | float, tau: Tensor | float) -> tuple[Tensor, Tensor]:
    """Bring both to broadcast tensors of one device and dtype, checking the values where that is free."""
    if not isinstance(lam, torch.Tensor):
        lam = torch.as_tensor(lam, dtype=torch.get_default_dtype())
    if not lam.is_floating_point():
        raise TypeError(f"lam must be a floating-point tensor, got dtype {lam.dtype}")
    if not isinstance(tau, torch.Tensor):
        # Not in the dtype of lam: half precision would turn 1e5 into ∞ and move every quantile.
        tau = torch.full((), checks.number("tau", tau), dtype=_working(lam.dtype), device=lam.device)
    if checks.readable(lam) and lam.numel():
        low, high = (float(bound) for bound in lam.detach().aminmax())
        if not (low >= 0 and high <= 1):
            raise ValueError(f"lam must lie in [0, 1], got values from {low} to {high}")
    if checks.readable(tau) and tau.numel() and not (lowest := float(tau.detach().min())) >= 0:
        raise ValueError(f"tau must be >= 0, got {lowest}")
    if lam.shape != tau.shape:
        shape = np.broadcast_shapes(lam.shape, tau.shape)
        return lam.expand(shape), tau.expand(shape)
    return lam, tau


def inverse_beta(lam: Tensor, tau: Tensor) -> Tensor:
    """The Beta(τ, τ) quantile at λ by table: logit ω = logit λ · √(τ+½)/τ · ρ, with ρ interpolated.

    Unchecked; ``lam`` and ``tau`` of one shape. The coordinates of the table, L/(|L|+2) with L = logit λ and
    τ/(τ+½), have one form and are made together: small batches pay per operation, not per number.
    """
    dtype = _working(lam.dtype)
    low, high, offset = _constants(lam.device, dtype, lam.dim()).unbind()
    z = torch.stack((_logit(lam, dtype), tau.to(dtype))).clamp_(low, high)
    d = z.abs().add_(offset)
    rho = _interpolate(z / d)
    level, tau = z.unbind()
    scale = d[1].rsqrt() * tau  # not in place: the backward pass looks at d
    return rho.mul_(level).div_(scale).sigmoid_().to(lam.dtype)


def beta(lam: Tensor, tau: Tensor) -> Tensor:
    """The Beta(1/τ, 1/τ) CDF at λ: the table of :func:`inverse_beta`, read backwards; carries no gradient.

    Finds L = logit ω with L·ρ(L) = logit λ · a/√(a+½), a = 1/τ, by the secant rule on logarithmic scales,
    where the slope of L ↦ L·ρ lies between ½ and 1.3: four steps reach the last digit from any start.
    """
    dtype = _working(lam.dtype)
    a = tau.detach().to(dtype).clamp(1 / CEILING, CEILING).reciprocal_()
    goal = _logit(lam.detach(), dtype).clamp_(-LIMIT, LIMIT) * a * (a + 0.5).rsqrt_()
    column = a / (a + 0.5)

    def rho(level: Tensor) -> Tensor:
        return _interpolate(torch.stack((level / (level.abs() + 2), column)))

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


def _interpolate(coordinates: Tensor) -> Tensor:
    """ρ at coordinates (2, ...), bilinearly."""
    if coordinates.numel() == 0:
        return coordinates.new_empty(coordinates.shape[1:])
    table = _table(coordinates.device, coordinates.dtype)
    grid = coordinates.view(1, 2, 1, -1).permute(0, 2, 3, 1)
    return grid_sample(table, grid, padding_mode="border", align_corners=True).view(coordinates.shape[1:])


# The compiler runs the next two while it traces and keeps their tensors as constants: scipy enters no graph.
@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _table(device: torch.device, dtype: torch.dtype) -> Tensor:
    return _cached_table(device, dtype)


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _constants(device: torch.device, dtype: torch.dtype, dim: int) -> Tensor:
    return _cached_constants(device, dtype, dim)


@functools.cache
@torch.inference_mode(False)  # what is kept must also serve calls outside inference mode
def _cached_table(device: torch.device, dtype: torch.dtype) -> Tensor:
    """ρ over (τ/(τ+½), L/(|L|+2)) in [-1, 1]², as an image; the half with τ < 0 is never read."""
    rho = torch.from_numpy(beta_quantile_ratio())
    signed = torch.cat((rho.flip(0)[:-1], rho))
    image = torch.cat((signed.new_zeros(len(signed), rho.shape[1] - 1), signed), dim=1).T.contiguous()
    return image[None, None].to(device=device, dtype=dtype)


@functools.cache
@torch.inference_mode(False)
def _cached_constants(device: torch.device, dtype: torch.dtype, dim: int) -> Tensor:
    """Lower bounds, upper bounds and offsets of (L, τ), each of shape (2, 1, ..., 1)."""
    values = torch.tensor([LOWEST, HIGHEST, OFFSETS], dtype=dtype, device=device)
    return values.view(3, 2, *(1,) * dim)
