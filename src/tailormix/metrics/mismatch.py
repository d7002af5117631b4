"""How often a mixed point still belongs to one of its two classes, against the distance of the pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tailormix import checks

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class AgreementCurve:
    """Per bin of distance: where it begins and ends, mean distance, pairs, share that agree, its interval."""

    left: Numbers
    right: Numbers
    distance: Numbers
    count: Numbers
    agreement: Numbers
    low: Numbers
    high: Numbers

    def as_dict(self) -> dict[str, Any]:
        """Return a record for JSON."""
        return {name: value.tolist() for name, value in vars(self).items()}


def agrees(predicted: ArrayLike, first: ArrayLike, second: ArrayLike) -> NDArray[np.bool_]:
    """[ŷ_i ∈ {y_i, y_σ(i)}]: no manifold mismatch. All of shape (n,).

    >>> agrees([0, 1, 2], first=[0, 0, 0], second=[1, 1, 1]).tolist()
    [True, True, False]
    """
    guess = np.asarray(predicted)
    found: NDArray[np.bool_] = (guess == np.asarray(first)) | (guess == np.asarray(second))
    return found


def agreement_curve(
    distance: ArrayLike, agreeing: ArrayLike, *, n_bins: int = 20, confidence: float = 0.95
) -> AgreementCurve:
    """P(ŷ ∈ {y, y'} | distance) over bins that hold equally many pairs, with Wilson intervals.

    Args:
        distance: of the pairs, (n,).
        agreeing: whether the prediction is one of the two labels, (n,).
        n_bins: bins between quantiles of the distance; where distances repeat, equal ones share a bin, and
            bins that stay empty are left out.
        confidence: of the intervals.

    >>> agreement_curve([1, 2, 3, 4], [1, 1, 0, 1], n_bins=2).agreement
    array([1. , 0.5])

    """
    far, hit = (np.asarray(one, dtype=np.float64) for one in (distance, agreeing))
    if far.ndim != 1 or far.shape != hit.shape or not len(far):
        raise ValueError(
            f"distance and agreeing must be (n,) with n >= 1, got shapes {far.shape} and {hit.shape}"
        )
    if not np.isfinite(far).all():
        raise ValueError("distance must be finite, got NaN or infinity")
    checks.integer("n_bins", n_bins, at_least=1)
    edges = np.quantile(far, np.linspace(0, 1, n_bins + 1))
    index = np.clip(np.searchsorted(edges[1:-1], far, side="left"), 0, n_bins - 1)
    count = np.bincount(index, minlength=n_bins)
    full = count > 0
    sums = [np.bincount(index, weights=one, minlength=n_bins)[full] for one in (far, hit)]
    low, high = wilson(sums[1], count[full], confidence)
    return AgreementCurve(
        edges[:-1][full],
        edges[1:][full],
        sums[0] / count[full],
        count[full].astype(np.float64),
        sums[1] / count[full],
        low,
        high,
    )


def wilson(hits: ArrayLike, count: ArrayLike, confidence: float = 0.95) -> tuple[Numbers, Numbers]:
    """Wilson's interval of a share p̂ = k/n: (p̂ + z²/2n ± z √(p̂(1-p̂)/n + z²/4n²)) / (1 + z²/n).

    >>> [round(float(edge), 4) for edge in wilson(5, 10)]
    [0.2366, 0.7634]
    """
    from scipy.stats import norm

    if not 0 < checks.number("confidence", confidence) < 1:
        raise ValueError(f"confidence must lie in (0, 1), got {confidence}")
    k, n = (np.asarray(one, dtype=np.float64) for one in (hits, count))
    if not ((n > 0) & (k >= 0) & (k <= n)).all():
        raise ValueError("hits must lie in [0, count] and count must be > 0")
    z = norm.ppf((1 + confidence) / 2)
    share = k / n
    middle = share + z * z / (2 * n)
    half = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low, high = ((middle + sign * half) / (1 + z * z / n) for sign in (-1, 1))
    # At shares of 0 and 1 rounding would leave the range by a hair.
    return np.clip(low, 0, share), np.clip(high, share, 1)
