"""How well a score finds unknown inputs: known ones should score higher."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    from tailormix.metrics.inputs import Array


def auroc(known: Array, unknown: Array) -> float:
    """P(a known input scores above an unknown one), ties half: the area below the ROC curve.

    ``known`` (n,) and ``unknown`` (m,) are scores such as the largest probability.

    >>> auroc(np.array([0.9, 0.8]), np.array([0.8, 0.1]))
    0.875
    """
    known, unknown = _scores("known", known), _scores("unknown", unknown)
    ranks = stats.rankdata(np.concatenate([known, unknown]))
    above = ranks[: len(known)].sum() - len(known) * (len(known) + 1) / 2
    return float(above / (len(known) * len(unknown)))


def fpr95(known: Array, unknown: Array) -> float:
    """Share of unknown inputs at or above the score that 95 % of the known ones reach.

    >>> fpr95(np.linspace(0, 1, 101), np.array([0.01, 0.5]))
    0.5
    """
    known, unknown = _scores("known", known), _scores("unknown", unknown)
    return float((unknown >= np.quantile(known, 0.05)).mean())


def _scores(name: str, values: Array) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1 or len(found) == 0 or not np.isfinite(found).all():
        raise ValueError(f"{name} must hold one finite score per input, (n,), got shape {found.shape}")
    return found
