"""Means over seeds, distance from a published number, ranks, and paired tests over seeds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


LEVEL = 0.05


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation (n - 1 below) of n values; one value has no deviation."""

    n: int
    mean: float
    std: float | None


@dataclass(frozen=True)
class Paired:
    """Mean of the differences over shared seeds, and the p-value of a two-sided paired t-test."""

    n: int
    difference: float
    p: float | None


def spread(values: Sequence[float]) -> Spread:
    """Describe values.

    >>> spread([1.0, 3.0])
    Spread(n=2, mean=2.0, std=1.4142135623730951)
    """
    n = len(values)
    mean = math.fsum(values) / n
    if n < 2:
        return Spread(n, mean, None)
    return Spread(n, mean, math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1)))


def in_pooled_deviations(ours: Spread, mean: float, std: float | None) -> float | None:
    """(x̄ - m) / √((s² + t²) / 2): our mean x̄ ± s less a published m ± t, in pooled standard deviations.

    Deviations, not standard errors: the distance does not grow with the number of seeds. Where only one side
    has a deviation, it stands for both; where none has, or both are 0, there is no answer.

    >>> in_pooled_deviations(Spread(10, 1.9, 0.3), 1.6, 0.3)
    1.0
    """
    known = [one for one in (ours.std, std) if one is not None]
    pooled = math.sqrt(sum(one**2 for one in known) / len(known)) if known else 0.0
    return round((ours.mean - mean) / pooled, 12) if pooled > 0 else None


def paired(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Paired | None:
    """Compare two rows seed by seed; None without a shared seed.

    t = d̄ √n / s_d with n - 1 degrees of freedom: a seed fixes split and order of the data, which both rows
    share. Equal rows have p = 1; a difference that is the same for every seed has p = 0.
    """
    seeds = sorted(set(ours) & set(theirs))
    if not seeds:
        return None
    found = spread([ours[seed] - theirs[seed] for seed in seeds])
    if found.std is None:
        return Paired(found.n, found.mean, None)
    if found.std == 0:
        return Paired(found.n, found.mean, 1.0 if found.mean == 0 else 0.0)
    from scipy import special

    t = found.mean * math.sqrt(found.n) / found.std
    return Paired(found.n, found.mean, float(2 * special.stdtr(found.n - 1, -abs(t))))


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values corrected for their number: p_(i) · (m - i + 1), made monotone, at most 1.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    corrected, reached = [0.0] * len(p_values), 0.0
    for place, index in enumerate(order):
        reached = max(reached, min(1.0, p_values[index] * (len(p_values) - place)))
        corrected[index] = reached
    return corrected


def ranks(values: Mapping[str, float], better: str) -> dict[str, int]:
    """Place of each name, 1 for the best; equal values share a place, and the next takes the next number.

    >>> ranks({"a": 1.0, "b": 0.5, "c": 0.5, "d": 2.0}, "lower")
    {'a': 2, 'b': 1, 'c': 1, 'd': 3}
    """
    if better == "none":
        return {}
    places = sorted(set(values.values()), reverse=better == "higher")
    return {name: places.index(value) + 1 for name, value in values.items()}
