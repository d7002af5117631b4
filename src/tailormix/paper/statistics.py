"""Distance from a published number, ranks, and paired tests over seeds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tailormix.reports.run_groups import MeanStd


LEVEL = 0.05


@dataclass(frozen=True)
class PairedTest:
    """Mean of the differences over shared seeds, and the p-value of a two-sided paired t-test."""

    n: int
    difference: float
    p: float | None


def pooled_difference(ours: MeanStd, mean: float, std: float | None) -> float | None:
    """(x̄ - m) / √((s² + t²) / 2): our mean x̄ ± s less a published m ± t, in pooled standard deviations.

    Deviations, not standard errors: the distance does not grow with the number of seeds. Where only one side
    has a deviation, it stands for both; where none has, or both are 0, there is no answer.

    >>> from tailormix.reports.run_groups import MeanStd
    >>> pooled_difference(MeanStd(1.9, 0.3, n=10), 1.6, 0.3)
    1.0
    """
    known = [one for one in (ours.std, std) if one is not None]
    pooled = math.sqrt(sum(one**2 for one in known) / len(known)) if known else 0.0
    return round((ours.mean - mean) / pooled, 12) if pooled > 0 else None


def paired_test(ours: Mapping[int, float], theirs: Mapping[int, float]) -> PairedTest | None:
    """Compare two rows seed by seed; None without a shared seed.

    A seed fixes split and order of the data, which both rows share. Equal rows have p = 1; a difference that
    is the same for every seed, up to rounding, has p = 0.
    """
    seeds = sorted(set(ours) & set(theirs))
    if not seeds:
        return None
    first, second = (np.array([row[seed] for seed in seeds]) for row in (ours, theirs))
    differences = first - second
    n, mean = len(seeds), math.fsum(differences) / len(seeds)
    if n < 2:
        return PairedTest(n, mean, None)
    if np.ptp(differences) <= 1e-13 * abs(mean):
        return PairedTest(n, mean, 1.0 if mean == 0 else 0.0)
    return PairedTest(n, mean, float(stats.ttest_rel(first, second).pvalue))


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values corrected for their number: p_(i) · (m - i + 1), made monotone, at most 1.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    given = np.asarray(p_values, dtype=float)
    order = given.argsort(kind="stable")
    factors = np.arange(len(given), 0, -1)
    corrected = np.empty_like(given)
    corrected[order] = np.maximum.accumulate((given[order] * factors).clip(max=1))
    return [float(p) for p in corrected]


def ranks(values: Mapping[str, float], better: str) -> dict[str, int]:
    """Rank of each name, 1 for the best; equal values share a rank, and the next takes the next number.

    >>> ranks({"a": 1.0, "b": 0.5, "c": 0.5, "d": 2.0}, "lower")
    {'a': 2, 'b': 1, 'c': 1, 'd': 3}
    """
    if better == "none" or not values:
        return {}
    given = np.array(list(values.values()))
    found = stats.rankdata(-given if better == "higher" else given, method="dense")
    return {name: int(rank) for name, rank in zip(values, found, strict=True)}
