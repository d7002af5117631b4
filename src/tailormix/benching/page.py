"""What was measured of all methods, as a page. Free of torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailormix.benching.published import PEERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tailormix.data.splits import Task


INTRODUCTION = """# What a step costs

Made by `tailormix bench --out costs.json --page costs.md`; do not edit. All methods take turns in one run,
and the fastest turn of each counts: ratios are what to read, the milliseconds are one machine's. *n* is a
batch. The paper's columns are the batches in memory and its time for an epoch against that of one method, the
least and the greatest over its data sets.

A run's `batches_in_memory` counts what the step keeps for its gradient, the column *with gradient*. The paper
counts 2 for C-Mixup, whose partners are fetched from the training set. Here they are one more array of *n*
rows that the blend is written into, just as Mixup's permuted copy is, and only the blend passes the network:
C-Mixup counts 1 like Mixup, and the MB measured say the same. (The authors' SK Mixup for regression fetches
its partners in the same way, and the paper counts 1 for it.)
"""
TITLES: dict[Task, str] = {"classification": "Classification", "regression": "Regression"}


def cost_page(found: Mapping[str, Any]) -> str:
    """The page of one run of ``tailormix bench``: a table for each task, and the paper's claims."""
    parts = [INTRODUCTION]
    for task, title in TITLES.items():
        where = found["settings"][task]
        size = "×".join(map(str, where["batch"]))
        parts.append(f"## {title}: a step of {where['model']}, batch {size}\n")
        parts.append(_lines(*_rows(found[task], PEERS[task])))
    parts.append("## The paper's claims\n")
    parts.append(
        _lines(["claim", "claimed", "paper's table", "measured", "agrees"], _claims(found["claims"]))
    )
    notes = [f"{row['claim']}: {row['note']}.\n" for row in found["claims"] if row["note"]]
    return "\n".join([*parts, *notes, _origin(found["settings"])])


def batches_and_time(cells: Mapping[str, Any]) -> tuple[str, str]:
    """The paper's cells: batches in memory, and the least and greatest ratio of times over the data sets.

    >>> batches_and_time({"batches": 2, "time": {"a": 1.25, "b": 1.5}})
    ('2', '1.25–1.50')
    """
    if not cells:
        return "", ""
    ends = dict.fromkeys(f"{end(cells['time'].values()):.2f}" for end in (min, max))
    return str(cells["batches"]), "–".join(ends)


def _rows(rows: Sequence[Mapping[str, Any]], peer: str) -> tuple[list[str], list[list[str]]]:
    header = ["method", "ms", "÷ erm", "÷ mixup", "with gradient", "without", "MB", "MB ÷ mixup"]
    header += ["paper: batches", f"paper ÷ {peer}"]
    body = []
    for row in rows:
        passes = (row["samples with gradient"], row["samples without gradient"])
        ratios = (row["time to erm"], row["time to mixup"])
        cells = [row["method"], f"{row['seconds'] * 1e3:.3g}", *(f"{each:.2f}" for each in ratios)]
        cells += [f"{number:g} n" if number else "" for number in passes]
        cells += [f"{row['bytes'] / 1e6:.1f}", f"{row['memory to mixup']:.2f}"]
        body.append([*cells, *batches_and_time(row["paper"])])
    return header, body


def _claims(rows: Iterable[Mapping[str, Any]]) -> list[list[str]]:
    return [
        [
            row["claim"],
            f"{row['claimed']:g}×",
            "" if row["in the table"] is None else f"{row['in the table']:.2f}×",
            f"{row['measured']:.2f}×",
            "yes" if row["agrees"] else "no",
        ]
        for row in rows
    ]


def _lines(header: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    rule = ["---"] + ["---:"] * (len(header) - 1)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, rule, *body)) + "\n"


def _origin(facts: Mapping[str, Any]) -> str:
    return (
        f"Made with tailormix {facts['tailormix']}, torch {facts['torch']}, Python {facts['python']} on "
        f"{facts['device']}, threads: {facts['threads']}, {facts['clock']} clock; MB {facts['memory']}.\n"
    )
