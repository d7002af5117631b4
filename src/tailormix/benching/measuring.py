"""Time, passes and memory of many methods in one interleaved run, as ratios to ERM and Mixup."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailormix.benching.costs import cost
from tailormix.benching.problems import chosen, fitted, step
from tailormix.benching.published import columns
from tailormix.benching.timing import race

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tailormix.benching.problems import Problem


Row = dict[str, Any]


def measure(
    problem: Problem, names: Sequence[str] | None = None, *, seconds: float = 1.0, clock: str = "wall"
) -> list[Row]:
    """One row a method; all take turns, so that noise of the machine hits them alike."""
    steps = {name: step(problem, fitted(problem, name)) for name in chosen(problem, names)}
    batch = len(problem.x)
    timings = race(steps, seconds=seconds, calls=1, clock=clock)
    costs = {name: cost(problem.model, once, problem.x.device) for name, once in steps.items()}
    paper = columns(problem.task)
    return [
        {
            "method": name,
            "seconds": timings[name].best,
            "median seconds": timings[name].median,
            "time to erm": timings[name].best / timings["erm"].best,
            "time to mixup": timings[name].best / timings["mixup"].best,
            "samples with gradient": costs[name].graded / batch,
            "samples without gradient": costs[name].free / batch,
            "bytes": costs[name].memory,
            "memory to erm": costs[name].memory / costs["erm"].memory,
            "memory to mixup": costs[name].memory / costs["mixup"].memory,
            "paper": paper.get(name, {}),
        }
        for name in steps
    ]
