"""The warp ω_τ and its kin on tensors: by table, which is the default, and exactly by scipy."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import cat, grid_sampler
from torch.compiler import is_dynamo_compiling

from tailormix import checks
from tailormix.kept import PRECISE, constant, kept, one, readable, remembering

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from torch import Tensor

    Array = NDArray[np.float64]

LEVELS, STEEPNESSES = 224, 768  # cells along the axes; the error falls with their squares
LEVEL_SCALE = 3 / 8  # more puts the cells nearer to u = ½, less nearer to u = 1
STEEPNESS_AT_ONE = -math.log(3)  # -½ log(9τ) where τ = 1, which falls on a row of the table
LAST_LEVEL = 17.33  # the logit of 1 - 2⁻²⁵, where draws end
FLATTEST, STEEPEST = 1e-24, 1e24  # stand for the slopes 0 and ∞, so that u = 0, ½ and 1 stay where they are
SHIPPED = Path(__file__).with_name("beta_quantile_slope.npy")
NEGLIGIBLE = -30.0  # below e^-30 the leading term of the incomplete beta function is exact in float64


def shipped_slope() -> NDArray[np.float32]:
    """:func:`beta_quantile_slope` as ``python -m tailormix.warping`` wrote it.

    Computing it takes scipy and half a second, as long as ten epochs of a small run.
    """
    table: NDArray[np.float32] = np.load(SHIPPED)
    return table


def beta_quantile_slope(levels: int = LEVELS, steepnesses: int = STEEPNESSES) -> NDArray[np.float64]:
    """Logit ω_τ(u) / logit u on a grid of τ (rows) and u ≥ ½ (columns).

    Rows are σ(-½ log(9τ)) = 1/(1 + 3√τ), evenly from 0 to 1, columns σ(3/8 · logit u), evenly from ½ to 1.
    Over the first the slope bends the less the more its errors matter: it is linear where τ is large and ω
    feels every error, and steep where τ is small and ω is a step. The borders are:

    ============  =====================================================
    u = ½         B(τ, τ) 4^{τ-1}, the slope of ω_τ at ½
    u → 1         such that the value where draws end is exact
    τ → ∞, τ → 0  0 and ∞, but for a trace that keeps 0·∞ away
    ============  =====================================================

    Returns:
        An array of shape (steepnesses + 1, levels + 1).

    """
    from scipy import special

    level = np.append(2 * np.arctanh(np.arange(1, levels) / levels) / LEVEL_SCALE, LAST_LEVEL)[None, :]
    last = levels * (2 * special.expit(LEVEL_SCALE * LAST_LEVEL) - 1) - (levels - 1)  # within its cell
    place = np.linspace(0, 1, steepnesses + 1)[1:-1, None]
    tau = ((1 / place - 1) / 3) ** 2
    table = np.empty((steepnesses + 1, levels + 1))
    table[0], table[-1] = FLATTEST, STEEPEST
    table[1:-1, :1] = np.exp(special.betaln(tau, tau) + (tau - 1) * np.log(4))
    table[1:-1, 1:] = _quantile_logit(level, tau) / level
    table[1:-1, -1] = table[1:-1, -2] + (table[1:-1, -1] - table[1:-1, -2]) / last
    return table


def _quantile_logit(level: NDArray[np.float64], tau: NDArray[np.float64]) -> NDArray[np.float64]:
    """-logit of the Beta(τ, τ) quantile at σ(-level), also where the quantile itself underflows."""
    from scipy import special

    log_tail = (special.log_expit(-level) + np.log(tau) + special.betaln(tau, tau)) / tau
    quantile = special.betaincinv(tau, tau, special.expit(-level))
    safe = np.where(log_tail < NEGLIGIBLE, 0.5, quantile)
    logit: NDArray[np.float64] = np.where(log_tail < NEGLIGIBLE, -log_tail, -special.logit(safe))
    return logit


STEEP, FLAT = 1e-8, 1e12  # beyond these the limits in closed form are exact to the last digit that matters


def exact_inverse_beta(lam: Array, tau: Array) -> Array:
    """The Beta(τ, τ) quantile at λ.

    >>> float(exact_inverse_beta(np.array(0.25), np.array(0.5)))  # = sin²(π/8)
    0.14644...
    """
    from scipy import special

    folded = np.minimum(lam, 1 - lam)
    inner = np.clip(tau, STEEP, FLAT)
    quantile = special.betaincinv(inner, inner, folded)
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        step = np.where(folded == 0.5, 0.5, np.exp(np.log(2 * folded) / np.maximum(tau, 1e-300)))
        normal = np.where(folded == 0, 0.0, 0.5 + special.ndtri(folded) / (2 * np.sqrt(2 * tau + 1)))
    quantile = np.where(tau < STEEP, step, np.where(tau > FLAT, normal, quantile))
    return np.where(lam > 0.5, 1 - quantile, quantile)


def exact_beta(lam: Array, tau: Array) -> Array:
    """The Beta(1/τ, 1/τ) CDF at λ."""
    from scipy import special

    with np.errstate(divide="ignore"):
        inner = np.clip(1 / tau, 1e-12, 1e15)
    return np.where(lam == 0.5, 0.5, special.betainc(inner, inner, lam))


def exact_sigmoid(lam: Array, tau: Array) -> Array:
    """σ(logit(λ)/τ)."""
    from scipy import special

    logit = np.clip(special.logit(lam), -1e300, 1e300)
    with np.errstate(over="ignore"):
        return np.asarray(special.expit(logit / np.clip(tau, 1e-300, 1e150)))


EXACT_WARPS: dict[str, Callable[[Array, Array], Array]] = {
    "inverse_beta": exact_inverse_beta,
    "beta": exact_beta,
    "sigmoid": exact_sigmoid,
}

LIMIT = 1e30  # stands for an infinite logit, so that 0·∞ and ∞/∞ never arise
CEILING = 1e24  # stands for τ = ∞, its inverse for τ = 0; below LIMIT, so that λ = 0 and λ = 1 stay fixed
BILINEAR, BORDER = 0, 1  # as torch numbers them
INVERSION_STEPS = 4
HIGHEST_LOG = 80.0  # e^80 is beyond LIMIT and within float32
LAST_NORMAL = 8.0  # the normal number from which slopes are extrapolated: nearly all draws are smaller
minus_twice = constant("minus_twice", -2 * LEVEL_SCALE)


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
            table needs torch alone, and its points (λ, ω) lie on the graph of ω_τ up to 3e-6, upwards or
            sideways: where the graph is steep, as for λ below 1e-5 and large τ, ω may be off by more.

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
    """The Beta(τ, τ) quantile at λ by table: logit ω = slope · logit λ, with the slope interpolated.

    Unchecked; ``lam`` and ``tau`` of one shape. Small batches pay per operation, not per number: what is
    tabulated, and over what, was chosen to need few of them, and none that keeps 0·∞ away.
    """
    dtype = lam.dtype
    if dtype not in PRECISE:
        return inverse_beta(lam.float(), tau).to(dtype)
    if tau.dtype != dtype:
        tau = tau.to(dtype)
    # -½ logit λ = atanh(1 - 2λ): odd about ½ to the last bit, as a logit in float32 would not be. λ below
    # 2⁻²⁵ counts as 0, and λ is rounded to 2⁻²⁴ near it; uniform draws are multiples of that anyway.
    level = torch.rsub(lam, one(), alpha=2).atanh().mul_(minus_twice())  # atanh_ has no derivative
    row = torch.rsub(tau.sqrt(), one(), alpha=-3).reciprocal_()
    return _interpolate(level.sigmoid(), row).mul_(level).sigmoid_()


def steepness(tau: float) -> float:
    """-½ log(9τ): how steep ω_τ is at ½, on the scale of the table."""
    return math.inf if tau == 0 else STEEPNESS_AT_ONE - 0.5 * math.log(tau)


def beta_draw(level: Tensor, steep: Tensor, logistic: bool = False) -> Tensor:
    """A draw from Beta(τ, τ) for each of ``level``: its quantile there, by table as :func:`inverse_beta`.

    Args:
        level: :func:`tailormix.draws.random_levels`, (n,): normal ones, z for the quantile at Φ(z).
        steep: the :func:`steepness` of τ, in [-∞, ∞], (n,).
        logistic: whether they are logistic instead.

    """
    if is_dynamo_compiling():
        slopes = (_slopes if logistic else _normal_slopes)(level.device, level.dtype)
        return (_fused(level.sigmoid(), steep.sigmoid(), slopes) * level).sigmoid()
    places = cat((level, steep)).sigmoid_()
    table = (_table if logistic else _normal_table)(level.device, level.dtype)
    return _sampled(places, table).mul_(level).sigmoid_()


def beta_at(level: Tensor, tau: float, logistic: bool = False) -> Tensor:
    """The same for one τ."""
    if tau == 1:
        return uniform_at(level, logistic)
    return beta_draw(level, level.new_full((), steepness(tau)).expand(level.shape), logistic)


def uniform_at(level: Tensor, logistic: bool = False) -> Tensor:
    """The same for the uniform law."""
    place: Tensor = (level / LEVEL_SCALE).sigmoid() if logistic else torch.special.ndtr(level)
    return place


def beta(lam: Tensor, tau: Tensor) -> Tensor:
    """The Beta(1/τ, 1/τ) CDF at λ: the table of :func:`inverse_beta`, read backwards; carries no gradient.

    Finds the level x with x·slope(x) = logit λ, up to the level's scale, by the secant rule on logarithmic
    scales, where x ↦ x·slope rises by between ½ and 1.3: four steps reach the last digit from any start.
    """
    dtype = _working(lam.dtype)
    row = 1 - 3 / (3 + tau.detach().to(dtype).sqrt())  # that of 1/τ
    goal = _logit(lam.detach(), dtype).clamp_(-LIMIT, LIMIT)

    def log_slope(log_level: Tensor) -> Tensor:
        return _interpolate(log_level.exp().sigmoid_(), row).log()

    aim = goal.abs().clamp(1 / LIMIT, LIMIT).log()
    before, miss_before = aim, log_slope(aim)
    now = (before - miss_before).clamp(max=HIGHEST_LOG)
    for _ in range(INVERSION_STEPS):
        miss = now + log_slope(now) - aim
        rise = ((miss - miss_before) / (now - before)).nan_to_num(1.0).clamp(0.4, 1.5)
        before, miss_before, now = now, miss, (now - miss / rise).clamp(max=HIGHEST_LOG)
    return (goal / _interpolate(now.exp().sigmoid_(), row)).div_(LEVEL_SCALE).sigmoid_().to(lam.dtype)


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
    result = EXACT_WARPS[kind](lam.detach().double().cpu().numpy(), tau.detach().double().cpu().numpy())
    return torch.as_tensor(result, dtype=lam.dtype, device=lam.device)


def _working(dtype: torch.dtype) -> torch.dtype:
    return torch.float64 if dtype == torch.float64 else torch.float32


def _logit(lam: Tensor, dtype: torch.dtype) -> Tensor:
    """Logit λ, rounded only once: in float32 alone, logit(1-λ) = -logit(λ) would fail near ½."""
    if lam.device.type == "mps":  # the one device without float64
        return torch.logit(lam.to(dtype))
    return torch.logit(lam.double()).to(dtype)


def _interpolate(column: Tensor, row: Tensor) -> Tensor:
    """Logit ω as a multiple of the level, bilinearly; places in the table run from 0 to 1."""
    if is_dynamo_compiling():
        return _fused(column, row, _slopes(column.device, column.dtype))
    n = column.numel()
    places = torch.cat((column.reshape(n), row.reshape(n)))
    return _sampled(places, _table(places.device, places.dtype)).view_as(column)


def _sampled(places: Tensor, table: Tensor) -> Tensor:
    """The same for n columns and n rows, one after the other: (2n,) → (n,)."""
    n = places.shape[0] // 2
    grid = places.as_strided((1, 1, n, 2), (2 * n, 2 * n, 1, n))
    return grid_sampler(table, grid, BILINEAR, BORDER, True).view(n)


def _fused(column: Tensor, row: Tensor, slopes: Tensor) -> Tensor:
    """The same from plain arithmetic, which a compiler fuses better than it fuses torch's sampler."""
    rows, columns = STEEPNESSES, LEVELS
    x, y = (column - 0.5).abs() * (2 * columns), row * rows
    left, top = x.to(torch.int32).clamp(0, columns - 1), y.to(torch.int32).clamp(0, rows - 1)
    flat, corner, share = slopes.view(-1), top * (columns + 1) + left, x - left
    upper, lower = (
        flat[start] + share * (flat[start + 1] - flat[start]) for start in (corner, corner + columns + 1)
    )
    return upper + (y - top) * (lower - upper)


@kept  # numpy enters no graph
def _slopes(device: torch.device, dtype: torch.dtype) -> Tensor:
    """The table, over σ(steepness) (rows) and σ(level) from ½ on (columns); slopes are even in the level."""
    return torch.from_numpy(shipped_slope() / LEVEL_SCALE).to(device=device, dtype=dtype)


@remembering
def _table(device: torch.device, dtype: torch.dtype) -> Tensor:
    """The same as an image for torch's sampler."""
    return _image(_slopes(device, dtype))


@remembering
def _normal_table(device: torch.device, dtype: torch.dtype) -> Tensor:
    """Likewise."""
    return _image(_normal_slopes(device, dtype))


@kept
def _normal_slopes(device: torch.device, dtype: torch.dtype) -> Tensor:
    """Logit ω_τ(Φ(z)) / z over σ(steepness) and σ(z), from the table over logits."""
    slopes = _slopes(torch.device("cpu"), torch.float64)
    z = 2 * torch.atanh(torch.arange(1, LEVELS, dtype=torch.float64, device="cpu") / LEVELS)
    z = torch.cat((z, z.new_full((1,), LAST_NORMAL)))
    level = (torch.special.log_ndtr(z) - torch.special.log_ndtr(-z)) * LEVEL_SCALE
    place = (level.sigmoid() - 0.5) * (2 * LEVELS)
    left = place.long().clamp(max=LEVELS - 1)
    rest = torch.lerp(slopes[:, left], slopes[:, left + 1], place - left) * (level / z)
    # The last column is that of z = ∞, and such that the value at LAST_NORMAL, within its cell, comes out.
    within = LEVELS * math.tanh(LAST_NORMAL / 2) - (LEVELS - 1)
    rest[:, -1] = torch.lerp(rest[:, -2], rest[:, -1], 1 / within)
    first = slopes[:, :1] * (LEVEL_SCALE * 4 / math.sqrt(2 * math.pi))  # the limit at z = 0
    return torch.cat((first, rest), dim=1).to(device=device, dtype=dtype)


def _image(upper: Tensor) -> Tensor:
    """Both halves of a table, in a quarter of an image.

    The sampler counts from -1 to 1, and σ runs from 0 to 1. So that the quarter lies together in memory, as
    it would alone, the others lie over it and over the NaN before it. That is read where σ is NaN.
    """
    slope = torch.cat((upper.flip(1), upper[:, 1:]), dim=1)
    rows, columns = (size - 1 for size in slope.shape)
    before = rows * (columns + 1) + columns
    memory = slope.new_full((before + slope.numel(),), math.nan)
    memory[before:] = slope.view(-1)
    return memory.as_strided((1, 1, 2 * rows + 1, 2 * columns + 1), (1, 1, columns + 1, 1))


if __name__ == "__main__":
    np.save(SHIPPED, beta_quantile_slope().astype(np.float32))
