"""Optimisers and learning-rate schedules by name.

Each schedule is a factor on the optimiser's ``lr``.
"""

from __future__ import annotations

import bisect
import importlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from tailormix import checks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from torch import nn, optim


@dataclass(frozen=True)
class OptimiserRecord:
    """Class of ``torch.optim`` behind a name, and the options that may be set."""

    attribute: str
    summary: str
    defaults: Mapping[str, Any]


OPTIMISERS: dict[str, OptimiserRecord] = {
    "sgd": OptimiserRecord(
        "SGD",
        "stochastic gradient descent with momentum",
        {"lr": 0.1, "momentum": 0.9, "nesterov": False, "weight_decay": 0.0},
    ),
    "adam": OptimiserRecord(
        "Adam",
        "Adam; weight decay is added to the gradient",
        {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0},
    ),
    "adamw": OptimiserRecord(
        "AdamW",
        "Adam with decoupled weight decay",
        {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 1e-2},
    ),
}


def build_optimiser(
    name: str, parameters: Iterable[nn.Parameter], options: Mapping[str, Any], *, fused: bool = True
) -> optim.Optimizer:
    """The optimiser of that name over ``parameters``, as one fused kernel where torch has it.

    Fused optimisers undo the loss scaling of float16 by themselves, which leaves no moment to clip gradients.

    >>> import torch
    >>> build_optimiser("sgd", [torch.nn.Parameter(torch.zeros(1))], {"lr": 0.5}).param_groups[0]["momentum"]
    0.9
    """
    record = OPTIMISERS[checks.known("optimiser", name, OPTIMISERS)]
    for key in options:
        checks.known(f"option of optimiser {name}", key, record.defaults)
    arguments = {**record.defaults, **options}
    checks.positive("lr", arguments["lr"])
    checks.non_negative("weight_decay", arguments["weight_decay"])
    parameters = list(parameters)
    make: Any = getattr(importlib.import_module("torch.optim"), record.attribute)
    return cast("optim.Optimizer", make(parameters, fused=fused and _fusible(parameters), **arguments))


def _fusible(parameters: Iterable[nn.Parameter]) -> bool:
    """One kernel for all parameters instead of a Python loop, where torch has it."""
    return all(p.device.type in ("cpu", "cuda") and p.is_floating_point() for p in parameters)


@dataclass(frozen=True)
class Position:
    """Where a run is: ``step`` of ``steps`` in ``epoch`` of ``epochs``, all counted from 0."""

    epoch: int
    step: int
    epochs: int
    steps: int

    @property
    def progress(self) -> float:
        """Epochs behind it, with fractions."""
        return self.epoch + self.step / self.steps


@dataclass(frozen=True)
class ScheduleRecord:
    """The factor at a position, and the options that may be set."""

    factor: Callable[..., float]
    summary: str
    defaults: Mapping[str, Any]


def constant(at: Position) -> float:
    """1."""
    del at
    return 1.0


def steps(at: Position, milestones: Sequence[int], factor: float) -> float:
    """factor^(number of milestones passed), the milestones in epochs.

    >>> [steps(Position(epoch, 0, 4, 1), (1, 3), 0.5) for epoch in range(4)]
    [1.0, 0.5, 0.5, 0.25]
    """
    return float(factor ** bisect.bisect_right(sorted(milestones), at.epoch))


def cosine(at: Position, minimum: float) -> float:
    """M + (1 - m) (1 + cos(π epoch / epochs)) / 2, one value an epoch.

    >>> [round(cosine(Position(epoch, 0, 2, 1), 0.0), 3) for epoch in range(2)]
    [1.0, 0.5]
    """
    return minimum + (1 - minimum) * (1 + math.cos(math.pi * at.epoch / at.epochs)) / 2


def one_cycle(at: Position, rise: float, start: float, end: float) -> float:
    """Cosine from 1 / start up to 1 over a share ``rise`` of all steps, then down to 1 / (start · end).

    >>> round(one_cycle(Position(0, 3, 1, 11), 0.3, 25.0, 1e4), 3)
    0.98
    """
    done, total = at.epoch * at.steps + at.step, at.epochs * at.steps
    peak = rise * total - 1
    if done <= peak:
        return _between(1 / start, 1.0, done / peak if peak else 1.0)
    return _between(1.0, 1 / (start * end), (done - peak) / max(total - 1 - peak, 1))


def _between(first: float, last: float, share: float) -> float:
    return last + (first - last) * (1 + math.cos(math.pi * share)) / 2


_WARMUP = {"warmup": 0.0}
SCHEDULES: dict[str, ScheduleRecord] = {
    "constant": ScheduleRecord(constant, "one learning rate throughout", _WARMUP),
    "steps": ScheduleRecord(
        steps, "times a factor after each milestone", {"milestones": (80, 120), "factor": 0.1, **_WARMUP}
    ),
    "cosine": ScheduleRecord(cosine, "half a cosine wave, down to a minimum", {"minimum": 0.0, **_WARMUP}),
    "one-cycle": ScheduleRecord(
        one_cycle, "up and down again, step by step", {"rise": 0.3, "start": 25.0, "end": 1e4, **_WARMUP}
    ),
}


def schedule(name: str, options: Mapping[str, Any]) -> Callable[[Position], float]:
    """The factor as a function of the position; ``warmup`` epochs of linear rise come on top of any schedule.

    >>> warm = schedule("constant", {"warmup": 1})
    >>> [warm(Position(epoch, step, 2, 2)) for epoch in range(2) for step in range(2)]
    [0.5, 1.0, 1.0, 1.0]
    """
    record = SCHEDULES[checks.known("schedule", name, SCHEDULES)]
    for key in options:
        checks.known(f"option of schedule {name}", key, record.defaults)
    arguments = {**record.defaults, **options}
    warmup = checks.non_negative("warmup", arguments.pop("warmup"))

    def factor(at: Position) -> float:
        risen = min(1.0, (at.progress + 1 / at.steps) / warmup) if warmup else 1.0
        return risen * record.factor(at, **arguments)

    return factor
