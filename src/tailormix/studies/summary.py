"""What the raw results say: means, paired differences with intervals, win rates and ranks over data sets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from tailormix.data.corrupt import CORRUPTIONS
from tailormix.studies.raw import BY_KIND, CLASSIFICATION, FACTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy.typing as npt

    from tailormix.studies.study import Study

#: metrics of which more is better; coverage has a goal instead, and is not ranked
HIGHER = ("accuracy", "auroc")
#: metrics in the unit of the targets: compared by the logarithm, so that differences are shares
RELATIVE = ("rmse",)
RESAMPLES = 2000
#: data sets from which on intervals and ranks are over them
MANY = 10
#: kinds of corruption that jitter changes in training, and all others
LIGHT = ("brightness", "darkness", "contrast")
GROUPS = ("light", "other")
#: what rows are ranked by: the first that has values
RANKED = ("ts_nll", "vs_gaussian_nll")


@dataclass(frozen=True)
class Effect:
    """A mean with a 95 % interval; the interval is NaN where there is too little to tell."""

    mean: float
    low: float
    high: float
    n: int

    @property
    def decided(self) -> bool:
        """Whether the interval leaves out 0; one without length, of equal values, decides nothing."""
        return self.low < self.high and (self.low > 0 or self.high < 0)


@dataclass(frozen=True)
class Ranking:
    """Mean ranks over data sets (1 is best), and how far two must be apart by the Nemenyi test."""

    ranks: Mapping[str, float]
    critical_difference: float
    friedman_p: float
    data_sets: int


class Values:
    """One metric by data set, row and seed; runs that were not chosen have none."""

    def __init__(self, rows: Iterable[Mapping[str, str]], metric: str) -> None:
        self.metric = metric
        self.found: dict[tuple[str, str], dict[int, float]] = {}
        for row in rows:
            if row.get(metric):
                self.found.setdefault((row["data"], row["row"]), {})[int(row["seed"])] = float(row[metric])

    def seeds(self, data: str, row: str) -> dict[int, float]:
        """The values of a cell by seed."""
        return self.found.get((data, row), {})

    def has(self, row: str) -> bool:
        """Whether a row has any value."""
        return any(name == row for _, name in self.found)

    @property
    def data_sets(self) -> list[str]:
        """All data sets that have values, in order."""
        return list(dict.fromkeys(data for data, _ in self.found))

    def mean(self, data: str, row: str) -> Effect:
        """Mean and standard deviation over seeds, as mean ± std."""
        values = np.array(list(self.seeds(data, row).values()))
        if not len(values):
            return Effect(math.nan, math.nan, math.nan, 0)
        spread = float(values.std(ddof=1)) if len(values) > 1 else math.nan
        return Effect(
            float(values.mean()), float(values.mean()) - spread, float(values.mean()) + spread, len(values)
        )


def with_groups(rows: Iterable[Mapping[str, str]]) -> list[Mapping[str, str]]:
    """The rows with means over two groups of kinds of corruption, where a run has kinds of both.

    >>> row = {"contrast_ts_ece": "0.3", "brightness_ts_ece": "0.1", "jpeg_ts_ece": "0.05"}
    >>> [(name, value) for name, value in with_groups([row])[0].items() if name not in row]
    [('light_ts_ece', '0.2'), ('other_ts_ece', '0.05')]
    """
    found: list[Mapping[str, str]] = []
    for row in rows:
        means: dict[str, str] = {}
        for metric in (f"ts_{name}" for name in BY_KIND):
            groups: dict[str, list[float]] = {group: [] for group in GROUPS}
            for kind in CORRUPTIONS:
                if value := row.get(f"{kind}_{metric}"):
                    groups[GROUPS[kind not in LIGHT]].append(float(value))
            if all(groups.values()):
                means |= {f"{group}_{metric}": repr(fmean(each)) for group, each in groups.items()}
        found.append({**row, **means})
    return found


def as_results(rows: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """Every metric times 100, by data set, row and seed, in the form of a results file of a table.

    >>> found = as_results([{"data": "a", "row": "erm", "seed": "0", "ts_ece": "0.02"}])
    >>> found["settings"][0]["rows"]
    [{'name': 'erm', 'cells': {'ts_ece': {'ours': {'values': {'0': 2.0}, 'mean': 2.0}}}}]
    """
    names = [name for name in rows[0] if name.endswith(CLASSIFICATION) and name not in FACTS]
    columns = [{"name": name, "title": _title(name), "better": _better(name), "digits": 2} for name in names]
    cells: dict[str, dict[str, dict[str, Any]]] = {}
    for name in names:
        for (data, row), found in Values(rows, name).found.items():
            values = {str(seed): 100 * value for seed, value in found.items()}
            ours = {"values": values, "mean": sum(values.values()) / len(values)}
            cells.setdefault(data, {}).setdefault(row, {})[name] = {"ours": ours}
    return {
        "settings": [
            {
                "name": data,
                "columns": columns,
                "rows": [{"name": row, "cells": by_metric} for row, by_metric in by_row.items()],
            }
            for data, by_row in cells.items()
        ]
    }


def _better(metric: str) -> str:
    return "higher" if metric.endswith(HIGHER) else "lower"


def _title(metric: str) -> str:
    """A metric's column as people write it.

    >>> _title("corrupted_ts_ece"), _title("accuracy")
    ('corrupted TS ECE', 'accuracy')
    """
    words = metric.split("_")
    return " ".join(word.upper() if word in ("ts", "ece", "nll", "aurc") else word for word in words)


def coverage(values: Values, *rows: str) -> str:
    """What to say of rows that have not been run on all data sets of the others.

    >>> facts = [("a", "erm"), ("b", "erm"), ("a", "mixup")]
    >>> rows = [{"data": data, "row": row, "seed": "0", "nll": "1"} for data, row in facts]
    >>> coverage(Values(rows, "nll"), "erm"), coverage(Values(rows, "nll"), "mixup")
    ('', ' (1 of 2 data sets)')
    >>> coverage(Values(rows, "nll"), "erm", "mixup")
    ' (1 of 2 data sets)'
    """
    all_sets = values.data_sets
    there = [data for data in all_sets if all(values.seeds(data, row) for row in rows)]
    return "" if there in ([], all_sets) else f" ({len(there)} of {len(all_sets)} data sets)"


def comparable(rows: Iterable[Mapping[str, str]], metric: str) -> Values:
    """One metric, as differences of it may be averaged over data sets."""
    values = Values(rows, metric)
    if metric in RELATIVE:
        values.found = {
            cell: {seed: math.log(value) for seed, value in found.items()}
            for cell, found in values.found.items()
        }
    return values


def paired(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Effect:
    """Mean difference over shared seeds with its t interval.

    >>> paired({0: 1.0, 1: 2.0}, {0: 0.5, 1: 1.5, 2: 9.0})
    Effect(mean=0.5, low=0.5, high=0.5, n=2)
    """
    return _t_interval([ours[seed] - theirs[seed] for seed in sorted(set(ours) & set(theirs))])


def _t_interval(values: Sequence[float]) -> Effect:
    """The mean and its t interval."""
    if not values:
        return Effect(math.nan, math.nan, math.nan, 0)
    mean = float(np.mean(values))
    if len(values) < 2:
        return Effect(mean, math.nan, math.nan, 1)
    reach = float(stats.t.ppf(0.975, len(values) - 1) * stats.sem(values))
    return Effect(mean, mean - reach, mean + reach, len(values))


def over_data_sets(ours: Values, row: str, theirs: Values, baseline: str) -> Effect:
    """Mean over data sets of the paired differences; with ten sets or more, the t interval over them.

    With fewer, seeds within data sets are all there is: half the interval is the root of the summed squares
    of the halves on each set, over the number of sets. It speaks of these data sets alone.
    """
    cells = [paired(ours.seeds(data, row), theirs.seeds(data, baseline)) for data in ours.data_sets]
    cells = [cell for cell in cells if cell.n]
    if not cells:
        return Effect(math.nan, math.nan, math.nan, 0)
    means = [cell.mean for cell in cells]
    if len(means) >= MANY:
        return _t_interval(means)
    mean = float(np.mean(means))
    if any(cell.n < 2 for cell in cells):
        return Effect(mean, math.nan, math.nan, len(means))
    halves = np.array([(cell.high - cell.low) / 2 for cell in cells])
    reach = float(np.sqrt((halves**2).sum()) / len(halves))
    return Effect(mean, mean - reach, mean + reach, len(means))


def win_rate(ours: Values, row: str, theirs: Values, baseline: str) -> Effect:
    """Share of data sets and seeds where the row is better, ties half; bootstrap over data sets."""
    sign = 1 if ours.metric.endswith(HIGHER) else -1
    shares = []
    for data in ours.data_sets:
        mine, other = ours.seeds(data, row), theirs.seeds(data, baseline)
        if seeds := set(mine) & set(other):
            shares.append(np.mean([(np.sign(sign * (mine[s] - other[s])) + 1) / 2 for s in seeds]))
    if not shares:
        return Effect(math.nan, math.nan, math.nan, 0)
    found = np.array(shares)
    low, high = _bootstrap(found) if len(found) >= MANY else (math.nan, math.nan)
    return Effect(float(found.mean()), low, high, len(found))


def ranking(values: Values, rows: Sequence[str]) -> Ranking | None:
    """Friedman's mean ranks of rows on the data sets that have all of them; None with fewer than ten sets.

    Two rows differ at the 5 % level if their mean ranks are further apart than q √(k (k + 1) / (6 N)), with q
    from the studentised range of k rows over √2 (Nemenyi).
    """
    table = np.array(
        [
            [values.mean(data, row).mean for row in rows]
            for data in values.data_sets
            if all(values.seeds(data, row) for row in rows)
        ]
    )
    if len(table) < MANY or len(rows) < 3:
        return None
    sign = -1 if values.metric.endswith(HIGHER) else 1
    ranks = stats.rankdata(sign * table, axis=1).mean(0)
    k, n = len(rows), len(table)
    q = stats.studentized_range.ppf(0.95, k, np.inf) / math.sqrt(2)
    p = float(stats.friedmanchisquare(*table.T).pvalue)
    return Ranking(
        dict(zip(rows, map(float, ranks), strict=True)), float(q * math.sqrt(k * (k + 1) / (6 * n))), p, n
    )


def compares(study: Study, rows: Iterable[Mapping[str, str]]) -> bool:
    """Whether any row but the baseline has results."""
    return any(row["row"] != study.baseline for row in rows)


def ranked(study: Study, rows: Sequence[Mapping[str, str]], metric: str) -> Ranking | None:
    """The ranking of the rows of a study that have results on all data sets that most rows have."""
    values = Values(rows, metric)
    there = {row["row"] for row in rows if row.get(metric)}
    most = [
        data
        for data in values.data_sets
        if 2 * sum(bool(values.seeds(data, row)) for row in there) > len(there)
    ]
    return ranking(values, [row for row in study.rows if all(values.seeds(data, row) for data in most)])


def _bootstrap(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Percentile interval of the mean over resampled data sets."""
    if np.ptp(values) == 0:
        return float(values[0]), float(values[0])
    found = stats.bootstrap((values,), np.mean, n_resamples=RESAMPLES, method="percentile", rng=0)
    return float(found.confidence_interval.low), float(found.confidence_interval.high)
