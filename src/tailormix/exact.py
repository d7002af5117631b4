"""The warping functions in float64 by scipy: slow, on the CPU, and as exact as it gets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

STEEP, FLAT = 1e-8, 1e12  # beyond these the limits in closed form are exact to the last digit that matters


def inverse_beta(lam: Array, tau: Array) -> Array:
    """The Beta(τ, τ) quantile at λ.

    >>> float(inverse_beta(np.array(0.25), np.array(0.5)))  # = sin²(π/8)
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


def beta(lam: Array, tau: Array) -> Array:
    """The Beta(1/τ, 1/τ) CDF at λ."""
    from scipy import special

    with np.errstate(divide="ignore"):
        inner = np.clip(1 / tau, 1e-12, 1e15)
    return np.where(lam == 0.5, 0.5, special.betainc(inner, inner, lam))


def sigmoid(lam: Array, tau: Array) -> Array:
    """σ(logit(λ)/τ)."""
    from scipy import special

    logit = np.clip(special.logit(lam), -1e300, 1e300)
    with np.errstate(over="ignore"):
        return np.asarray(special.expit(logit / np.clip(tau, 1e-300, 1e150)))


WARPS: dict[str, Callable[[Array, Array], Array]] = {
    "inverse_beta": inverse_beta,
    "beta": beta,
    "sigmoid": sigmoid,
}
