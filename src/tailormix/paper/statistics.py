"""Tests behind the verdicts: against a published mean, paired over seeds, equivalence, frequencies; ranks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tailormix.reports.numbers import MeanStd


LEVEL = 0.05


@dataclass(frozen=True)
class PairedTest:
    """Mean difference over n shared seeds, and the p-value of a test of it; one seed has none."""

    n: int
    difference: float
    p: float | None


def standard_errors(ours: MeanStd, mean: float, std: float | None, runs: int) -> float | None:
    """(x̄ - m) / √(s²/n + t²/r): our mean x̄ ± s of n runs less a published m ± t of r, in standard errors.

    Where only one side has a deviation, it stands for both; None where neither has one, or both are 0.

    >>> from tailormix.reports.numbers import MeanStd
    >>> standard_errors(MeanStd(2.0, 0.3, n=10), 1.5, 0.4, runs=10)  # 0.5 / √(0.009 + 0.016)
    3.162277660168
    """
    s, t = ours.std if ours.std is not None else std, std if std is not None else ours.std
    if s is None or t is None:
        return None
    error = math.sqrt(s**2 / ours.n + t**2 / runs)
    return round((ours.mean - mean) / error, 12) if error > 0 else None


def paired_test(
    ours: Mapping[int, float], theirs: Mapping[int, float], margin: float | None = None
) -> PairedTest | None:
    """Paired t-test of two rows seed by seed; None without a shared seed.

    A seed fixes split and order of the data, which both rows share. Without a margin: p of the two-sided test
    of equal means. With a margin: p of the equivalence test (TOST), the larger p of the two one-sided tests
    of -margin < difference and difference < margin. Below 0.05 the rows are equal up to the margin; above
    0.95 they differ by more, as the one-sided test of that has the p-value 1 - p.
    """
    seeds = sorted(set(ours) & set(theirs))
    if not seeds:
        return None
    differences = np.array([ours[seed] - theirs[seed] for seed in seeds])
    n, mean = len(seeds), math.fsum(differences) / len(seeds)
    if n < 2:
        return PairedTest(n, mean, None)
    if margin is None:
        return PairedTest(n, mean, _p_value(differences, 0.0, "two-sided"))
    lower, upper = _p_value(differences, -margin, "greater"), _p_value(differences, margin, "less")
    return PairedTest(n, mean, max(lower, upper))


def _p_value(differences: np.ndarray, mean: float, alternative: str) -> float:
    """Of a t-test against a mean; differences that are the same up to rounding leave no doubt."""
    found = math.fsum(differences) / len(differences)
    if np.ptp(differences) <= 1e-13 * abs(found):
        not_so = {"two-sided": found == mean, "greater": found <= mean, "less": found >= mean}
        return float(not_so[alternative])
    return float(stats.ttest_1samp(differences, mean, alternative=alternative).pvalue)


def frequency_test(first: float, second: float, n: int) -> float:
    """Two-sided p-value of p ≠ q, frequencies in n cases each: z = (p - q) / √(p(1-p)/n + q(1-q)/n).

    >>> round(frequency_test(0.6, 0.5, 100), 3)  # z = 0.1 / √(0.0024 + 0.0025) = 1.43
    0.153
    """
    error = math.sqrt((first * (1 - first) + second * (1 - second)) / n)
    return float(2 * stats.norm.sf(abs(first - second) / error)) if error > 0 else float(first == second)


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
