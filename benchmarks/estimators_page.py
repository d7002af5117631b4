"""The tables of ``docs/estimators.md``, made of the scores in ``docs/estimators.json``."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.record import Record

LEVEL = 0.9
MARKS = ("<!-- tables: python -m benchmarks.estimators -->", "<!-- end of tables -->")


def insert(page: str, results: dict[str, Any]) -> str:
    """The page with its tables between the two marks made anew."""
    if any(page.count(mark) != 1 for mark in MARKS):
        raise ValueError(f"the page must hold each of {MARKS} once")
    before, rest = page.split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    return f"{before}{MARKS[0]}\n\n{tables(results)}\n\n{MARKS[1]}{after}"


def tables(results: dict[str, Any]) -> str:
    """Classification: one table a metric, with the mean over data sets. Regression: one table."""
    records = results["records"]
    classes = [record for record in records if "nll" in record]
    real = [record for record in records if "rmse" in record]
    parts = [
        f"Means over {results['seeds']} splits, a share of {results['test']:g} of the rows for testing; "
        + ", ".join(f"{name} {version}" for name, version in results["versions"].items())
        + "."
    ]
    titles = {"nll": "NLL, lower is better", "ece": "ECE, lower is better", "accuracy": "Accuracy"}
    parts += [_table(title, classes, metric) for metric, title in titles.items()]
    return "\n\n".join([*parts, _regression(real)])


def mean(records: list[Record], metric: str, **where: str) -> float:
    """Mean of a metric over the records that match.

    >>> rows = [{"model": "a", "nll": 1.0}, {"model": "a", "nll": 3.0}, {"model": "b", "nll": 9.0}]
    >>> mean(rows, "nll", model="a")
    2.0
    """
    return fmean(row[metric] for row in records if all(row[key] == value for key, value in where.items()))


def _table(title: str, records: list[Record], metric: str) -> str:
    data = list(dict.fromkeys(row["data"] for row in records))
    lines = []
    for model in dict.fromkeys(row["model"] for row in records):
        values = [mean(records, metric, model=model, data=name) for name in data]
        lines.append([_shown(model), *(format(value, ".3f") for value in (*values, fmean(values)))])
    return _markdown([title, *data, "mean"], lines)


def _regression(records: list[Record]) -> str:
    lines = []
    for model in dict.fromkeys(row["model"] for row in records):
        gap = fmean(abs(row["coverage"] - LEVEL) for row in records if row["model"] == model)
        values = [mean(records, metric, model=model) for metric in ("rmse", "coverage")]
        lines.append([_shown(model), f"{values[0]:.1f}", f"{values[1]:.3f}", f"{gap:.3f}"])
    return _markdown(["diabetes", "RMSE", "coverage of 90 % intervals", "mean distance from 0.9"], lines)


def _shown(model: str) -> str:
    """The call as code, what was done to the data as words."""
    call, comma, how = model.partition(", ")
    return f"`{call}`{comma}{how}"


def _markdown(head: list[str], lines: list[list[str]]) -> str:
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *lines))
