"""What a benchmark tells: one record a contender, with its ratio to a peer of the same run."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tailormix.benching.timing import Timing

Record = dict[str, Any]


def record(
    what: str,
    size: str,
    name: str,
    timings: dict[str, Timing],
    *,
    against: str,
    at_least: float | None = None,
    at_most: float | None = None,
) -> Record:
    """One line of the table: time, speed-up over the peer, and share of the peer's time.

    Args:
        what: the name of the benchmark.
        size: what it ran on.
        name: the contender.
        timings: of all contenders of the run.
        against: the peer.
        at_least: the wanted speed-up, if any.
        at_most: the wanted share of the peer's time, if any.

    """
    mine, peer = timings[name], timings[against]
    return _judged(
        {
            "benchmark": what,
            "size": size,
            "contender": name,
            "best_us": mine.best * 1e6,
            "median_us": mine.median * 1e6,
            "against": against,
            "against_us": peer.best * 1e6,
            "at_least": at_least,
            "at_most": at_most,
        }
    )


def fastest(runs: list[list[Record]]) -> list[Record]:
    """The same records from several processes as one: the fastest turn of a contender, and of its peer.

    Which pages of memory a process gets moves what is bound by memory by several percent.
    """
    return [
        _judged(
            rows[0]
            | {key: min(row[key] for row in rows) for key in ("best_us", "against_us")}
            | {"median_us": statistics.median(row["median_us"] for row in rows)}
        )
        for rows in zip(*runs, strict=True)
    ]


def _judged(row: Record) -> Record:
    """With the ratio of the two times, and whether it is as wanted."""
    share = row["best_us"] / row["against_us"]
    met = None
    if row["at_least"] is not None:
        met = share * row["at_least"] <= 1
    elif row["at_most"] is not None:
        met = share <= row["at_most"]
    return row | {"share": share, "speed_up": 1 / share, "met": met}
