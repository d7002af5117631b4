"""The paper's figures and claims about cost beside what was measured here, and the page of both."""

from __future__ import annotations

import statistics
import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal

from benchmarks.harness import markdown_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tailormix.data.splits import Task

    Rows = Sequence[Mapping[str, Any]]
    Cells = tuple[list[str], list[list[str]]]

#: whose time the paper's others are divided by: its regression table has no row of Mixup
PEERS: dict[Task, str] = {"classification": "mixup", "regression": "sk-mixup"}
#: how far "about" and "at most" may be missed
ABOUT, AT_MOST = 1.25, 1.1

INTRODUCTION = """# What a step costs

Made by `python -m benchmarks costs --out docs/costs.json --page docs/costs.md`; do not edit. All methods
take turns in one run, and the fastest turn of each counts. Compare the ratios: the milliseconds depend on the
machine. *n* is the size of a batch. The columns *with gradient* and *without* count the samples that pass the
network. The paper's columns are its batches in memory, and its time per epoch divided by that of one method,
from the lowest to the highest of its data sets.

The paper counts 2 batches in memory for C-Mixup, whose partners come from the training set. Only the mixed
batch passes the network, as with Mixup, so C-Mixup counts as 1 here, and the measured MB confirm it. (The
authors' SK Mixup for regression takes its partners in the same way, and the paper counts 1 for it.) The value
`batches_in_memory` of a run is the column *with gradient*.
"""


@dataclass(frozen=True)
class Claim:
    """``slower`` needs ``times`` as much of something as ``faster``; the note explains a likely miss."""

    text: str
    task: Task
    slower: str
    faster: str
    times: float
    kind: Literal["at least", "at most", "about"] = "at least"
    what: Literal["seconds", "bytes"] = "seconds"
    note: str = ""


IMAGES: Task = "classification"
SERIES: Task = "regression"
CLAIMS = (
    Claim("SK Mixup is about 1.5× faster than MIT-A", IMAGES, "mit-a", "sk-mixup", 1.5),
    Claim("SK Mixup is about 3× faster than RankMixup", IMAGES, "rankmixup", "sk-mixup", 3.0),
    Claim(
        "SK Mixup is about 4× faster than C-Mixup",
        SERIES,
        "c-mixup",
        "sk-mixup",
        4.0,
        note="the released C-Mixup prepares an N × N table and draws from it at every step; "
        "tailormix computes only the rows of the batch",
    ),
    Claim("SK Mixup is as fast as Mixup in regression", SERIES, "sk-mixup", "mixup", 1.0, "at most"),
    Claim("SK Mixup holds a single batch, like Mixup", IMAGES, "sk-mixup", "mixup", 1.0, "at most", "bytes"),
    Claim(
        "MIT-A holds twice the data",
        IMAGES,
        "mit-a",
        "mixup",
        2.0,
        "about",
        "bytes",
        note="two batches pass the network, and the mixtures after every stage are stored as well",
    ),
    Claim("RankMixup holds four times the data", IMAGES, "rankmixup", "mixup", 4.0, "about", "bytes"),
)


def agrees(claim: Claim, measured: float) -> bool:
    """Whether a measured ratio supports a claim.

    >>> [agrees(CLAIMS[0], ratio) for ratio in (1.1, 1.4, 2.5)], [agrees(CLAIMS[3], r) for r in (1.05, 1.3)]
    ([False, True, True], [True, False])
    """
    if claim.kind == "at most":
        return measured <= claim.times * AT_MOST
    return measured >= claim.times / ABOUT and (claim.kind == "at least" or measured <= claim.times * ABOUT)


def check_claims(rows: Mapping[Task, Rows]) -> list[dict[str, Any]]:
    """Every claim whose two methods were measured: claimed, in the paper's own table, measured, agrees."""
    found = []
    for claim in CLAIMS:
        by_name = {row["method"]: row for row in rows.get(claim.task, ())}
        if claim.slower not in by_name or claim.faster not in by_name:
            continue
        measured = by_name[claim.slower][claim.what] / by_name[claim.faster][claim.what]
        timed, true = claim.what == "seconds", agrees(claim, measured)
        found.append(
            {
                "claim": claim.text,
                "what": claim.what,
                "claimed": claim.times,
                "in the table": paper_ratio(claim.task, claim.slower, claim.faster) if timed else None,
                "measured": measured,
                "agrees": true,
                "note": "" if true else claim.note,
            }
        )
    return found


def paper_columns(task: Task) -> dict[str, dict[str, Any]]:
    """By method: batches in memory, and time per epoch over that of the peer on the same data set."""
    path = resources.files("tailormix").joinpath("paper", "data", f"efficiency-{task}.toml")
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    rows = {row["name"]: row["values"] for row in table["rows"]}
    peer = {data: cells["seconds_per_epoch"] for data, cells in rows[PEERS[task]].items()}
    return {
        name: {
            "batches": max(int(cells["batches_in_memory"]) for cells in values.values()),
            "time": {data: cells["seconds_per_epoch"] / peer[data] for data, cells in values.items()},
            "to": PEERS[task],
        }
        for name, values in rows.items()
    }


def paper_ratio(task: Task, slower: str, faster: str) -> float | None:
    """How many times as long an epoch of ``slower`` takes in the paper's table, mean over its data sets."""
    found = paper_columns(task)
    if slower not in found or faster not in found:
        return None
    times = found[slower]["time"], found[faster]["time"]
    return statistics.fmean(times[0][data] / times[1][data] for data in times[0])


def cost_cells(rows: Rows, task: Task) -> Cells:
    """Header and rows of a table of costs."""
    header = ["method", "ms", "÷ erm", "÷ mixup", "with gradient", "without", "MB", "MB ÷ mixup"]
    header += ["paper: batches", f"paper ÷ {PEERS[task]}"]
    body = []
    for row in rows:
        passes = (row["samples with gradient"], row["samples without gradient"])
        ratios = (row["time to erm"], row["time to mixup"])
        cells = [row["method"], f"{row['seconds'] * 1e3:.3g}", *(f"{each:.2f}" for each in ratios)]
        cells += [f"{number:g} n" if number else "" for number in passes]
        cells += [f"{row['bytes'] / 1e6:.1f}", f"{row['memory to mixup']:.2f}"]
        body.append([*cells, *_paper_cells(row["paper"])])
    return header, body


def claim_cells(rows: Iterable[Mapping[str, Any]]) -> Cells:
    """Header and rows of the table of claims."""
    body = [
        [
            row["claim"],
            f"{row['claimed']:g}×",
            "" if row["in the table"] is None else f"{row['in the table']:.2f}×",
            f"{row['measured']:.2f}×",
            "yes" if row["agrees"] else "no",
        ]
        for row in rows
    ]
    return ["claim", "claimed", "paper's table", "measured", "agrees"], body


def cost_page(found: Mapping[str, Any]) -> str:
    """The page of one run: a table for each task, the paper's claims, and where it was made."""
    titles: dict[Task, str] = {"classification": "Classification", "regression": "Regression"}
    facts, sections = found["settings"], [INTRODUCTION]
    for task, title in titles.items():
        size = "×".join(map(str, facts[task]["batch"]))
        sections.append(f"## {title}: a step of {facts[task]['model']}, batch {size}\n")
        sections.append(markdown_table(*cost_cells(found[task], task)) + "\n")
    sections += ["## The paper's claims\n", markdown_table(*claim_cells(found["claims"])) + "\n"]
    sections += [f"{row['claim']}: {row['note']}.\n" for row in found["claims"] if row["note"]]
    origin = (
        f"Made with tailormix {facts['tailormix']}, torch {facts['torch']}, Python {facts['python']} on "
        f"{facts['device']}, threads: {facts['threads']}, {facts['clock']} clock; MB {facts['memory']}.\n"
    )
    return "\n".join([*sections, origin])


def _paper_cells(cells: Mapping[str, Any]) -> tuple[str, str]:
    """Batches in memory, and the least and greatest ratio of times over the data sets.

    >>> _paper_cells({"batches": 2, "time": {"a": 1.25, "b": 1.5}})
    ('2', '1.25–1.50')
    """
    if not cells:
        return "", ""
    ends = dict.fromkeys(f"{end(cells['time'].values()):.2f}" for end in (min, max))
    return str(cells["batches"]), "–".join(ends)
