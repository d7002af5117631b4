"""Optimisers and learning-rate schedules by name, and the steps that use them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import torch
from torch import Tensor, nn, optim
from torch.optim import lr_scheduler

from tailormix import checks
from tailormix.training.seeding import reseed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence


@dataclass(frozen=True, eq=False)
class TrainingBatch:
    """What one step learns from: inputs, targets, the seed of its draws, and further arguments of the step.

    ``weight`` multiplies the loss.
    """

    x: Tensor
    y: Tensor
    seed: int
    options: Mapping[str, Any] = field(default_factory=dict)
    weight: float = 1.0


def train_epoch(
    step: nn.Module,
    optimiser: optim.Optimizer,
    schedule: Schedule,
    batches: Iterable[TrainingBatch],
    backward: Callable[[Tensor], None] = Tensor.backward,
) -> Iterator[Tensor]:
    """Take one optimiser step for each batch, and yield its loss, detached, when the step is done.

    ``step`` maps (x, y) to the loss, as :class:`tailormix.Step` does. ``backward`` computes the gradients of
    a loss; what it raises comes before the weights change.
    """
    step.train()
    for batch in batches:
        schedule.advance()
        reseed(batch.seed, batch.x.device)
        loss = step(batch.x, batch.y, **batch.options) * batch.weight
        backward(loss)
        optimiser.step()
        optimiser.zero_grad()
        yield loss.detach()


@dataclass(frozen=True)
class OptimiserRecord:
    """An optimiser of torch, and the options that may be set."""

    make: Callable[..., optim.Optimizer]
    summary: str
    defaults: Mapping[str, Any]


OPTIMISERS: dict[str, OptimiserRecord] = {
    "sgd": OptimiserRecord(
        optim.SGD,
        "stochastic gradient descent with momentum",
        {"lr": 0.1, "momentum": 0.9, "nesterov": False, "weight_decay": 0.0},
    ),
    "adam": OptimiserRecord(
        optim.Adam,
        "Adam; weight decay is added to the gradient",
        {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0},
    ),
    "adamw": OptimiserRecord(
        optim.AdamW,
        "Adam with decoupled weight decay",
        {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 1e-2},
    ),
}


def build_optimiser(
    name: str, parameters: Iterable[Tensor], options: Mapping[str, Any], *, fused: bool = True
) -> optim.Optimizer:
    """The optimiser of that name over ``parameters``, as one fused kernel where torch has it.

    Fused optimisers undo the loss scaling of float16 by themselves, which leaves no moment to clip gradients:
    ``fused=False`` is for that.

    >>> build_optimiser("sgd", [nn.Parameter(torch.zeros(1))], {"lr": 0.5}).param_groups[0]["momentum"]
    0.9
    """
    record = OPTIMISERS[checks.known("optimiser", name, OPTIMISERS)]
    arguments = _arguments(f"optimiser {name}", record.defaults, options)
    checks.positive("lr", arguments["lr"])
    checks.non_negative("weight_decay", arguments["weight_decay"])
    parameters = list(parameters)
    fusible = all(p.device.type in ("cpu", "cuda") and p.is_floating_point() for p in parameters)
    return record.make(parameters, fused=fused and fusible, **arguments)


@dataclass(frozen=True)
class ScheduleRecord:
    """A scheduler of torch, and the options that may be set.

    ``make(optimiser, length, **options)`` builds it for an optimiser of learning rate 1. The length is
    counted in steps (``every_step``) or in epochs: so often the learning rate changes.
    """

    make: Callable[..., lr_scheduler.LRScheduler]
    summary: str
    defaults: Mapping[str, Any]
    every_step: bool = False


def _constant(optimiser: optim.Optimizer, _length: int) -> lr_scheduler.LRScheduler:
    return lr_scheduler.LambdaLR(optimiser, lambda _: 1.0)


def _steps(
    optimiser: optim.Optimizer, _length: int, milestones: Sequence[int], factor: float
) -> lr_scheduler.LRScheduler:
    epochs = [checks.integer("milestones", epoch, at_least=0) for epoch in milestones]
    return lr_scheduler.MultiStepLR(optimiser, epochs, factor)


def _cosine(optimiser: optim.Optimizer, length: int, minimum: float) -> lr_scheduler.LRScheduler:
    return lr_scheduler.CosineAnnealingLR(optimiser, length, minimum)


def _one_cycle(
    optimiser: optim.Optimizer, length: int, rise: float, start: float, end: float
) -> lr_scheduler.LRScheduler:
    length = max(length, 2)  # a single step would be the end of the cycle
    if rise * length == 1:
        rise = math.nextafter(rise, 0)  # torch divides by 0 where the peak is the very first step
    return lr_scheduler.OneCycleLR(
        optimiser,
        max_lr=1.0,
        total_steps=length,
        pct_start=rise,
        div_factor=start,
        final_div_factor=end,
        cycle_momentum=False,
    )


_WARMUP = {"warmup": 0.0}
SCHEDULES: dict[str, ScheduleRecord] = {
    "constant": ScheduleRecord(_constant, "one learning rate throughout", _WARMUP),
    "steps": ScheduleRecord(
        _steps, "times a factor after each milestone", {"milestones": (80, 120), "factor": 0.1, **_WARMUP}
    ),
    "cosine": ScheduleRecord(_cosine, "half a cosine wave, down to a minimum", {"minimum": 0.0, **_WARMUP}),
    "one-cycle": ScheduleRecord(
        _one_cycle,
        "up and down again, step by step",
        {"rise": 0.3, "start": 25.0, "end": 1e4, **_WARMUP},
        every_step=True,
    ),
}


@final
class Schedule:
    """Learning rates of an optimiser: a scheduler of torch, times ``warmup`` epochs of linear rise.

    The scheduler runs on a stand-in with learning rate 1, so that the warm-up can multiply any of them.

    >>> optimiser = build_optimiser("sgd", [nn.Parameter(torch.zeros(1))], {"lr": 0.5})
    >>> schedule, rates = Schedule(optimiser, "constant", {"warmup": 1}, epochs=2, steps=2), []
    >>> for _ in range(4):
    ...     schedule.advance()
    ...     rates.append(optimiser.param_groups[0]["lr"])
    >>> rates
    [0.25, 0.5, 0.5, 0.5]
    """

    def __init__(
        self,
        optimiser: optim.Optimizer,
        name: str,
        options: Mapping[str, Any],
        *,
        epochs: int,
        steps: int,
    ) -> None:
        record = SCHEDULES[checks.known("schedule", name, SCHEDULES)]
        arguments = _arguments(f"schedule {name}", record.defaults, options)
        self.warmup_steps = checks.non_negative("warmup", arguments.pop("warmup")) * steps
        self.optimiser = optimiser
        self.full_rates = [group["lr"] for group in optimiser.param_groups]
        self.stand_in = optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
        length = epochs * steps if record.every_step else epochs
        self.scheduler = record.make(self.stand_in, length, **arguments)
        self.steps_per_change = 1 if record.every_step else steps
        self.done = 0

    def advance(self) -> None:
        """Set the learning rates of the next step."""
        if self.done and self.done % self.steps_per_change == 0:
            self.stand_in.step()
            self.scheduler.step()
        self.done += 1
        factor = self.stand_in.param_groups[0]["lr"]
        if self.done < self.warmup_steps:
            factor *= self.done / self.warmup_steps
        for group, rate in zip(self.optimiser.param_groups, self.full_rates, strict=True):
            group["lr"] = rate * factor


def _arguments(thing: str, defaults: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Defaults with the options over them; unknown options raise."""
    for key in options:
        checks.known(f"option of {thing}", key, defaults)
    return {**defaults, **options}
