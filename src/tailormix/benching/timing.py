"""Fair timing on a shared machine: all contenders take turns, and the fastest turn of each counts."""

from __future__ import annotations

import gc
import random
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Contender = Callable[[], object]
#: ``cpu`` counts the process's own work on all threads: for machines too busy for the time on the wall
CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}


@dataclass(frozen=True)
class Timing:
    """Seconds a call.

    Attributes:
        best: the fastest turn, which other processes disturbed least.
        median: the middle one.

    """

    best: float
    median: float


def race(
    contenders: Mapping[str, Contender], *, seconds: float = 1.0, calls: int = 3, clock: str = "wall"
) -> dict[str, Timing]:
    """Time all contenders in turns until each has had its ``seconds``.

    A turn is one untimed call, which warms caches that the previous contender left cold, then ``calls`` timed
    ones. Short turns fit between the interruptions of a busy machine. The order is drawn anew for each round:
    one call does not warm everything, and nobody is to run behind the same contender every time.
    """
    order, shuffle = list(contenders), random.Random(0).shuffle
    turns: dict[str, list[float]] = {name: [] for name in contenders}
    for contender in contenders.values():
        contender()
    collecting = gc.isenabled()
    gc.disable()
    try:
        end = time.perf_counter() + seconds * len(contenders)
        while time.perf_counter() < end or any(len(each) < 5 for each in turns.values()):
            shuffle(order)
            for name in order:
                turns[name].append(_turn(contenders[name], calls, CLOCKS[clock]))
    finally:
        if collecting:
            gc.enable()
    return {name: Timing(min(each), statistics.median(each)) for name, each in turns.items()}


def _turn(contender: Contender, calls: int, now: Callable[[], float]) -> float:
    contender()
    start = now()
    for _ in range(calls):
        contender()
    return (now() - start) / calls
