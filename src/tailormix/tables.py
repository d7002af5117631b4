"""The table behind the default warp: how many times steeper a Beta(τ, τ) quantile is than the uniform one."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEVELS, STEEPNESSES = 224, 768  # cells along the axes; the error falls with their squares
LEVEL_SCALE = 3 / 8  # more puts the cells nearer to u = ½, less nearer to u = 1
STEEPNESS_AT_ONE = -math.log(3)  # -½ log(9τ) where τ = 1, which falls on a row of the table
LAST_LEVEL = 17.33  # the logit of 1 - 2⁻²⁵, where draws end
FLATTEST, STEEPEST = 1e-24, 1e24  # stand for the slopes 0 and ∞, so that u = 0, ½ and 1 stay where they are
SHIPPED = Path(__file__).with_name("beta_quantile_slope.npy")
NEGLIGIBLE = -30.0  # below e^-30 the leading term of the incomplete beta function is exact in float64


def shipped_slope() -> NDArray[np.float32]:
    """:func:`beta_quantile_slope` as ``python -m tailormix.tables`` wrote it.

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


if __name__ == "__main__":
    np.save(SHIPPED, beta_quantile_slope().astype(np.float32))
