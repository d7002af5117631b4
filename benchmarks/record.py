"""What a benchmark tells: one record a contender, with its ratio to a peer of the same run."""

from __future__ import annotations

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
    share = mine.best / peer.best
    met = None
    if at_least is not None:
        met = share * at_least <= 1
    elif at_most is not None:
        met = share <= at_most
    return {
        "benchmark": what,
        "size": size,
        "contender": name,
        "best_us": mine.best * 1e6,
        "median_us": mine.median * 1e6,
        "against": against,
        "share": share,
        "speed_up": 1 / share,
        "at_least": at_least,
        "at_most": at_most,
        "met": met,
    }
