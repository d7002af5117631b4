"""The table behind the default warp: how far the logit of a Beta(τ, τ) quantile is from a closed form."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

CELLS = 352  # along each axis; the error falls with its square. 1-u underflows in float64 beyond 372
SHIPPED = Path(__file__).with_name("beta_quantile_ratio.npy")
NEGLIGIBLE = -30.0  # below e^-30 the leading term of the incomplete beta function is exact in float64


def shipped_ratio() -> NDArray[np.float32]:
    """:func:`beta_quantile_ratio` as ``python -m tailormix.tables`` wrote it.

    Computing it takes scipy and half a second, as long as ten epochs of a small run.
    """
    table: NDArray[np.float32] = np.load(SHIPPED)
    return table


def beta_quantile_ratio(cells: int = CELLS) -> NDArray[np.float64]:
    """ρ = logit ω_τ(u) / (logit u · (q + q²)), q = 1/√τ, on a grid of u ≥ ½ (rows) and τ (columns).

    Rows are x = L/(L+2) with L = logit u, columns y = q/(q+1), both evenly from 0 to 1. Over all of them ρ is
    smooth and lies between 0 and 1, which is why so few points do. The borders are its limits:

    ======  =====================================  ==========================================
    x = 0   B(τ,τ) 4^{τ-1} / (q + q²)              the slope at u = ½
    x = 1   q/(q+1)                                u ≈ ω^τ/(τ B(τ,τ)) near 0
    y = 0   √2 Φ⁻¹(u)/L                            the normal law for large τ
    y = 1   -log(2(1-u))/L                         1-ω ≈ (2(1-u))^{1/τ} for small τ
    ======  =====================================  ==========================================

    Returns:
        An array of shape (cells + 1, cells + 1).

    """
    from scipy import special

    inner = np.arange(1, cells) / cells
    level, q = (2 * inner / (1 - inner))[:, None], (inner / (1 - inner))[None, :]
    tau, scale = q**-2, q + q**2
    log_u = special.log_expit(-level)  # of the mirror image 1 - u, which keeps its precision
    table = np.empty((cells + 1, cells + 1))
    table[1:-1, 1:-1] = _quantile_logit(level, tau) / (level * scale)
    table[0, 1:-1] = (np.exp(special.betaln(tau, tau) + (tau - 1) * np.log(4)) / scale)[0]
    table[-1, 1:-1] = inner
    table[1:-1, 0] = (-np.sqrt(2) * special.ndtri_exp(log_u) / level)[:, 0]
    table[1:-1, -1] = (-(log_u + np.log(2)) / level)[:, 0]
    table[0, 0], table[0, -1], table[-1, -1] = np.sqrt(np.pi) / 2, 0.5, 1.0
    table[-1, 0] = 1e-12  # 0 in the limit; positive, it keeps u = 0 and u = 1 fixed however large τ is
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
    np.save(SHIPPED, beta_quantile_ratio().astype(np.float32))
