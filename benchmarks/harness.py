"""How benchmarks measure and show: races, records of their results, and tables."""

from __future__ import annotations

import gc
import random
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.markup import escape
from rich.table import Table

Contender = Callable[[], object]
#: ``cpu`` counts the work of this process on all threads: for machines too busy for wall-clock time
CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}


@dataclass(frozen=True)
class Timing:
    """Seconds per call.

    Attributes:
        best: the fastest turn, which other processes disturbed least.
        median: the middle one.

    """

    best: float
    median: float


def race(
    contenders: Mapping[str, Contender], *, seconds: float = 1.0, calls: int = 3, clock: str = "wall"
) -> dict[str, Timing]:
    """Time all contenders in turns, for about ``seconds`` each and five turns at least; for 0, one turn each.

    A turn is one untimed call, which warms up caches, then ``calls`` timed ones. Short turns fit between the
    interruptions of a busy machine. The order is shuffled in every round, so that no contender always runs
    behind the same other one.
    """
    order, shuffle, now = list(contenders), random.Random(0).shuffle, CLOCKS[clock]
    times: dict[str, list[float]] = {name: [] for name in contenders}
    least = 5 if seconds else 1
    collecting = gc.isenabled()
    gc.disable()
    try:
        end = time.perf_counter() + seconds * len(contenders)
        while time.perf_counter() < end or len(times[order[0]]) < least:
            shuffle(order)
            for name in order:
                contenders[name]()
                start = now()
                for _ in range(calls):
                    contenders[name]()
                times[name].append((now() - start) / calls)
    finally:
        if collecting:
            gc.enable()
    return {name: Timing(min(each), statistics.median(each)) for name, each in times.items()}


@dataclass(frozen=True)
class Record:
    """The time of one contender beside that of a peer in the same race, in seconds.

    Attributes:
        benchmark, size: what was raced, and on what.
        contender, best, median: who, and its times.
        peer, peer_best: against whom, and its time.
        at_most: the target for our time divided by the peer's, if there is one.
        at_least: the target for how many times as fast as the peer we are, if there is one.

    """

    benchmark: str
    size: str
    contender: str
    best: float
    median: float
    peer: str
    peer_best: float
    at_most: float | None = None
    at_least: float | None = None

    @property
    def ratio(self) -> float:
        """Our time divided by the peer's."""
        return self.best / self.peer_best

    @property
    def met(self) -> bool | None:
        """Whether the target is met; ``None`` without one."""
        if self.at_least is not None:
            return 1 / self.ratio >= self.at_least
        return None if self.at_most is None else self.ratio <= self.at_most


def record(
    benchmark: str,
    size: str,
    contender: str,
    peer: str,
    timings: Mapping[str, Timing],
    *,
    at_most: float | None = None,
    at_least: float | None = None,
) -> Record:
    """The record of one contender of a race."""
    ours, best = timings[contender], timings[peer].best
    return Record(benchmark, size, contender, ours.best, ours.median, peer, best, at_most, at_least)


def records_table(records: Sequence[Record]) -> Table:
    """Records of one benchmark with one peer: times, and the ratio that was found beside its target."""
    headings = ("size", "contender", "ms", "peer's ms", "found", "target", "")
    return rich_table(f"{records[0].benchmark}, against {records[0].peer}", headings, map(_cells, records))


def _cells(each: Record) -> list[str]:
    """Found and target are the ratio of the times, or its inverse where being faster is what counts."""
    target = "" if each.at_most is None else f"≤ {each.at_most:g}×"
    target = target if each.at_least is None else f"≥ {each.at_least:g}× as fast"
    faster = each.at_least is not None or (each.at_most is None and each.ratio < 0.5)
    found = f"{1 / each.ratio:.1f}× as fast" if faster else f"{each.ratio:.3f}×"
    verdict = {None: "", True: "met", False: "not met"}[each.met]
    times = [f"{1e3 * seconds:.2f}" for seconds in (each.best, each.peer_best)]
    return [each.size, each.contender, *times, found, target, verdict]


def rich_table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table for the terminal."""
    table = Table(
        *header,
        title=f"\n{escape(title)}",
        box=None,
        title_justify="left",
        header_style="bold",
        pad_edge=False,
    )
    for row in rows:
        table.add_row(*map(escape, row))
    return table


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table for a page; all columns but the first are aligned to the right.

    >>> print(markdown_table(["method", "ms"], [["erm", "3"]]))
    | method | ms |
    | --- | ---: |
    | erm | 3 |
    """
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, rule, *rows))
