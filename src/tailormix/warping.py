"""Warping functions ω_τ: bijections of [0, 1] that turn uniform draws into mixing coefficients (Eq. 2)."""

from __future__ import annotations

import functools
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn import functional

from tailormix import checks

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from torch import Tensor

    Array = NDArray[np.float64]

# The table of the default warp: slopes logit ω_τ(λ) / logit λ, a row for each τ and a column for each λ ≥ ½.
TABLE_FILE = Path(__file__).with_name("beta_quantile_slope.npy")
ROWS, COLUMNS = 768, 224  # cells along the axes; the error falls with their squares
COLUMN_SCALE = 3 / 8  # more puts the columns nearer to λ = ½, less nearer to λ = 1
LAST_LOGIT = 17.33  # the logit of 1 - 2⁻²⁵, where uniform draws in float32 end
FLATTEST, STEEPEST = 1e-24, 1e24  # stand for the slopes 0 and ∞, so that λ = 0, ½ and 1 stay where they are
NEGLIGIBLE = -30.0  # below e^-30 the leading term of the incomplete beta function is exact in float64
INFINITE = 1e38  # stands for τ = ∞, and float32 holds it
LOG_9 = math.log(9)  # τ = 1/9 is the middle row
LIMIT = 1e30  # stands for an infinite logit, so that 0·∞ and ∞/∞ never arise
STEEP, FLAT = 1e-8, 1e12  # beyond these τ the limits in closed form are exact to the last digit that matters


def warp(lam: Tensor | float, tau: Tensor | float, kind: str = "inverse_beta", exact: bool = False) -> Tensor:
    r"""ω_τ(λ), element by element; ``lam`` and ``tau`` broadcast.

    =================  ============================================  ===============================
    ``kind``           ω_τ(λ)                                        λ ~ U(0, 1) gives
    =================  ============================================  ===============================
    ``inverse_beta``   I⁻¹_λ(τ, τ), the Beta(τ, τ) quantile (Eq. 2)  Beta(τ, τ)
    ``beta``           I_λ(1/τ, 1/τ), the Beta(1/τ, 1/τ) CDF         more mass at 0 and 1 as τ → 0
    ``sigmoid``        σ(logit(λ) / τ)                               more mass at 0 and 1 as τ → 0
    =================  ============================================  ===============================

    Every ω_τ fixes 0, ½ and 1; τ → 0 gives a step at ½, τ → ∞ gives ½ everywhere inside (0, 1). The sigmoid
    printed in the paper, 1/(1+e^{λ/τ}), is no bijection of [0, 1]; the one here is.

    Args:
        lam: values in [0, 1], any shape, any floating dtype and device.
        tau: values in [0, ∞].
        kind: which family of warps.
        exact: evaluate with scipy on the CPU (which synchronises with the device) instead of by table. The
            table needs torch alone, and its points (λ, ω) lie on the graph of ω_τ up to 5e-6, upwards or
            sideways. Where the graph is steep, as for λ below 1e-5 and large τ, ω may be off by 1e-3; below
            2⁻²⁵, where uniform draws in float32 end, by 0.1: take ``exact`` there.

    Returns:
        A tensor of the broadcast shape, with the dtype and device of ``lam``.

    >>> warp(torch.tensor([0.1, 0.25, 0.5]), 2.0)
    tensor([0.1958, 0.3264, 0.5000])

    """
    if kind not in WARPS:
        checks.known("kind", kind, WARPS)
    if not isinstance(lam, torch.Tensor):
        lam = torch.as_tensor(lam, dtype=torch.get_default_dtype())
    if not lam.is_floating_point():
        raise TypeError(f"lam must be a floating-point tensor, got dtype {lam.dtype}")
    wide = torch.float64 if lam.dtype == torch.float64 else torch.float32  # half would turn τ = 1e5 into ∞
    if not isinstance(tau, torch.Tensor):
        tau = torch.full((), min(checks.number("tau", tau), INFINITE), dtype=wide, device=lam.device)
    tau = tau.to(wide)
    if lam.shape != tau.shape:
        shape = np.broadcast_shapes(lam.shape, tau.shape)
        lam, tau = lam.expand(shape), tau.expand(shape)
    if lam.numel() == 0:
        return torch.empty_like(lam)
    if exact:
        warped = EXACT_WARPS[kind](lam, tau)
    else:
        # In float64, since in float32 logit(1 - λ) = -logit(λ) would fail near ½; one device has none.
        finest = wide if lam.device.type == "mps" else torch.float64
        warped = WARPS[kind](torch.logit(lam.to(finest)).to(wide), tau)
    # Values outside the domain give NaN. A look for it is free on the CPU; elsewhere a step would wait.
    readable = warped.is_cpu and not torch.compiler.is_compiling() and not checks.TRUSTING.get()
    if readable and math.isnan(warped.sum().item()):
        _reject_values(lam, tau)
    return warped.to(lam.dtype)


def _reject_values(lam: Tensor, tau: Tensor) -> None:
    """Name the argument that is out of its domain."""
    low, high = (bound.item() for bound in lam.detach().aminmax())
    if not (low >= 0 and high <= 1):
        raise ValueError(f"lam must lie in [0, 1], got values from {low} to {high}")
    if not (lowest := tau.detach().min().item()) >= 0:
        raise ValueError(f"tau must be >= 0, got {lowest}")


def _inverse_beta(level: Tensor, tau: Tensor) -> Tensor:
    """I⁻¹_λ(τ, τ): logit ω = slope · logit λ, with the slope from the table; ``level`` is logit λ."""
    return torch.sigmoid(_slope(level, tau.log()) * level)


def _slope(level: Tensor, log_tau: Tensor) -> Tensor:
    """The slope at logit λ and log τ: bilinear interpolation in the table, whose axes run from -1 to 1."""
    compiling = torch.compiler.is_compiling()  # a compiled graph holds its own copy of the table
    table = TABLE.to(level.device, level.dtype) if compiling else _table_on(level.device, level.dtype)
    row, column = torch.tanh((log_tau + LOG_9) * -0.25), torch.tanh(level * (COLUMN_SCALE / 2))
    places = torch.stack((column, row), dim=-1).view(1, 1, -1, 2)
    slope = functional.grid_sample(table[None, None], places, align_corners=True).view(level.shape)
    return torch.where(row.isnan(), row, slope)  # the sampler makes numbers of NaN


def _beta(level: Tensor, tau: Tensor) -> Tensor:
    """I_λ(1/τ, 1/τ), the table read backwards; carries no gradient.

    Finds the logit x with x · slope(x) = logit λ by the secant rule on logarithmic scales, where x · slope
    rises by between ½ and 1.3: four steps reach the last digit from any start.
    """
    goal, log_tau = level.detach().clamp(-LIMIT, LIMIT), -tau.detach().log()

    def log_slope(log_level: Tensor) -> Tensor:
        return _slope(log_level.exp(), log_tau).log()

    aim = goal.abs().clamp(min=1 / LIMIT).log()
    before, miss_before = aim, log_slope(aim)
    now = (before - miss_before).clamp(max=80.0)  # e^80 is beyond LIMIT and within float32
    for _ in range(4):
        miss = now + log_slope(now) - aim
        rise = ((miss - miss_before) / (now - before)).nan_to_num(1.0).clamp(0.4, 1.5)
        before, miss_before, now = now, miss, (now - miss / rise).clamp(max=80.0)
    return torch.sigmoid(goal / _slope(now.exp(), log_tau))


def _sigmoid(level: Tensor, tau: Tensor) -> Tensor:
    """σ(logit(λ)/τ), with 0, ½ and 1 fixed for every τ."""
    return torch.sigmoid(level.clamp(-LIMIT, LIMIT) / tau.clamp(FLATTEST, STEEPEST))


WARPS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "inverse_beta": _inverse_beta,
    "beta": _beta,
    "sigmoid": _sigmoid,
}


def _load_table() -> Tensor:
    """The slopes for all λ: those below ½ are the mirror image of the others."""
    with torch.inference_mode(False):  # a table made in inference mode would be of no use outside it
        upper = torch.from_numpy(np.load(TABLE_FILE))
        return torch.cat((upper.flip(1), upper[:, 1:]), dim=1)


TABLE = _load_table()


@functools.cache
def _table_on(device: torch.device, dtype: torch.dtype) -> Tensor:
    with torch.inference_mode(False):
        return TABLE.to(device, dtype)


def exact_inverse_beta(lam: Array, tau: Array) -> Array:
    """The Beta(τ, τ) quantile at λ, in float64 by scipy.

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
    """The Beta(1/τ, 1/τ) CDF at λ, in float64 by scipy."""
    from scipy import special

    with np.errstate(divide="ignore"):
        inner = np.clip(1 / tau, 1e-12, 1e15)
    return np.where(lam == 0.5, 0.5, special.betainc(inner, inner, lam))


def exact_sigmoid(lam: Array, tau: Array) -> Array:
    """σ(logit(λ)/τ), in float64 by scipy."""
    from scipy import special

    logit = np.clip(special.logit(lam), -1e300, 1e300)
    with np.errstate(over="ignore"):
        return np.asarray(special.expit(logit / np.clip(tau, 1e-300, 1e150)))


def _on_cpu(function: Callable[[Array, Array], Array]) -> Callable[[Tensor, Tensor], Tensor]:
    """A function of tensors from a function of float64 arrays."""

    def warped(lam: Tensor, tau: Tensor) -> Tensor:
        values = function(lam.detach().double().cpu().numpy(), tau.detach().double().cpu().numpy())
        return torch.as_tensor(values, device=lam.device)

    return warped


EXACT_WARPS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "inverse_beta": _on_cpu(exact_inverse_beta),
    "beta": _on_cpu(exact_beta),
    "sigmoid": _on_cpu(exact_sigmoid),
}


def slope_table(rows: int = ROWS, columns: int = COLUMNS) -> Array:
    """Slopes logit ω_τ(λ) / logit λ on a grid of τ (rows) and λ ≥ ½ (columns), by scipy; takes half a second.

    Rows are 1/(1 + 3√τ), evenly from 0 to 1, columns σ(3/8 · logit λ), evenly from ½ to 1. Over the first the
    slope bends the less the more its errors matter: it is linear where τ is large and ω feels every error,
    and steep where τ is small and ω is a step. The borders are:

    ============  =====================================================
    λ = ½         B(τ, τ) 4^{τ-1}, the slope of ω_τ at ½
    λ → 1         such that the value where float32 draws end is exact
    τ → ∞, τ → 0  0 and ∞, but for a trace that keeps 0·∞ away
    ============  =====================================================

    Returns:
        An array of shape (rows + 1, columns + 1).

    """
    from scipy import special

    logit = np.append(2 * np.arctanh(np.arange(1, columns) / columns) / COLUMN_SCALE, LAST_LOGIT)[None, :]
    last = columns * (2 * special.expit(COLUMN_SCALE * LAST_LOGIT) - 1) - (columns - 1)  # within its cell
    place = np.linspace(0, 1, rows + 1)[1:-1, None]
    tau = ((1 / place - 1) / 3) ** 2
    table = np.empty((rows + 1, columns + 1))
    table[0], table[-1] = FLATTEST, STEEPEST
    table[1:-1, :1] = np.exp(special.betaln(tau, tau) + (tau - 1) * np.log(4))
    table[1:-1, 1:] = _quantile_logit(logit, tau) / logit
    table[1:-1, -1] = table[1:-1, -2] + (table[1:-1, -1] - table[1:-1, -2]) / last
    return table


def _quantile_logit(logit: Array, tau: Array) -> Array:
    """-logit of the Beta(τ, τ) quantile at σ(-logit), also where the quantile itself underflows."""
    from scipy import special

    log_tail = (special.log_expit(-logit) + np.log(tau) + special.betaln(tau, tau)) / tau
    quantile = special.betaincinv(tau, tau, special.expit(-logit))
    safe = np.where(log_tail < NEGLIGIBLE, 0.5, quantile)
    result: Array = np.where(log_tail < NEGLIGIBLE, -log_tail, -special.logit(safe))
    return result


if __name__ == "__main__":  # writes the table anew
    np.save(TABLE_FILE, slope_table().astype(np.float32))
