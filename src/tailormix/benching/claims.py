"""What the paper says about cost, beside what was measured here. Free of torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from tailormix.benching.published import ratio

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tailormix.data.splits import Task

    Rows = Sequence[Mapping[str, Any]]

#: what "about" and "as" leave room for
ABOUT, AS = 1.25, 1.1
Kind = Literal["at least", "at most", "about"]


@dataclass(frozen=True)
class Claim:
    """``slower`` needs ``times`` as much of something as ``faster``; the note explains a likely miss."""

    text: str
    task: Task
    slower: str
    faster: str
    times: float
    kind: Kind = "at least"
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
        "here only the batch's rows of it are formed",
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
        note="two batches pass the network, and the blends after every stage are kept besides",
    ),
    Claim("RankMixup holds four times the data", IMAGES, "rankmixup", "mixup", 4.0, "about", "bytes"),
)


def agrees(claim: Claim, measured: float) -> bool:
    """Whether a measured ratio bears a claim out.

    >>> [agrees(CLAIMS[0], ratio) for ratio in (1.1, 1.4, 2.5)], [agrees(CLAIMS[3], r) for r in (1.05, 1.3)]
    ([False, True, True], [True, False])
    """
    if claim.kind == "at most":
        return measured <= claim.times * AS
    return measured >= claim.times / ABOUT and (claim.kind == "at least" or measured <= claim.times * ABOUT)


def checked(rows: Mapping[Task, Rows]) -> list[dict[str, Any]]:
    """Every claim whose two methods were measured: claimed, in the paper's own table, measured, agrees."""
    found = []
    for claim in CLAIMS:
        by_name = {row["method"]: row for row in rows.get(claim.task, ())}
        if claim.slower not in by_name or claim.faster not in by_name:
            continue
        measured = by_name[claim.slower][claim.what] / by_name[claim.faster][claim.what]
        true, timed = agrees(claim, measured), claim.what == "seconds"
        found.append(
            {
                "claim": claim.text,
                "what": claim.what,
                "claimed": claim.times,
                "in the table": ratio(claim.task, claim.slower, claim.faster) if timed else None,
                "measured": measured,
                "agrees": true,
                "note": "" if true else claim.note,
            }
        )
    return found
