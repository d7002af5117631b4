"""Schedules against formulas, every optimiser, and one epoch of steps by hand."""

from __future__ import annotations

import bisect
import math
from typing import Any

import pytest
import torch
from torch import nn, optim

from tailormix.training import OPTIMISERS, SCHEDULES, Schedule, build_optimiser
from tailormix.training.optimisation import TrainingBatch, train_epoch


def sgd(lr: float = 1.0) -> optim.Optimizer:
    return optim.SGD([nn.Parameter(torch.zeros(1))], lr=lr)


def rates(name: str, epochs: int, steps: int, lr: float = 1.0, **options: Any) -> list[float]:
    """The learning rate of every step."""
    optimiser, found = sgd(lr), []
    schedule = Schedule(optimiser, name, options, epochs=epochs, steps=steps)
    for _ in range(epochs * steps):
        schedule.advance()
        found.append(optimiser.param_groups[0]["lr"])
    return found


def one_cycle(done: int, total: int, rise: float, start: float, end: float) -> float:
    """Cosine from 1 / start up to 1 over a share ``rise`` of all steps, then down to 1 / (start · end)."""
    peak = rise * total - 1
    first, last, share = 1 / start, 1.0, done / peak if peak else 1.0
    if done > peak:
        first, last, share = 1.0, 1 / (start * end), (done - peak) / (total - 1 - peak)
    return last + (first - last) * (1 + math.cos(math.pi * share)) / 2


def formula(name: str, done: int, epochs: int, steps: int, options: dict[str, Any]) -> float:
    """The factor on the learning rate after ``done`` steps."""
    epoch = done // steps
    if name == "steps":
        return float(options["factor"] ** bisect.bisect_right(sorted(options["milestones"]), epoch))
    if name == "cosine":
        low = options["minimum"]
        return float(low + (1 - low) * (1 + math.cos(math.pi * epoch / epochs)) / 2)
    return one_cycle(done, epochs * steps, **options) if name == "one-cycle" else 1.0


@pytest.mark.parametrize("warmup", [0.0, 0.6, 2.0, 9.0])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("constant", {}),
        ("steps", {"milestones": [4, 2], "factor": 0.1}),
        ("steps", {"milestones": [0, 3, 3], "factor": 0.5}),
        ("cosine", {"minimum": 0.0}),
        ("cosine", {"minimum": 0.25}),
        ("one-cycle", {"rise": 0.3, "start": 25.0, "end": 1e4}),
        ("one-cycle", {"rise": 1.0, "start": 10.0, "end": 2.0}),
        ("one-cycle", {"rise": 0.025, "start": 10.0, "end": 2.0}),  # the peak is the first of 40 steps
    ],
)
def test_schedules_follow_their_formulas(name: str, options: dict[str, Any], warmup: float) -> None:
    """Every rate of 8 epochs of 5 steps, times the linear rise of the warm-up."""
    epochs, steps, lr = 8, 5, 0.3
    expected = [
        lr
        * formula(name, done, epochs, steps, options)
        * (min(1.0, (done + 1) / steps / warmup) if warmup else 1.0)
        for done in range(epochs * steps)
    ]
    found = rates(name, epochs, steps, lr, warmup=warmup, **options)
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_defaults_are_those_of_torch() -> None:
    assert rates("steps", 5, 4, milestones=[2, 4]) == rates("steps", 5, 4, milestones=[2, 4], factor=0.1)
    assert rates("cosine", 5, 4) == rates("cosine", 5, 4, minimum=0.0)
    assert rates("one-cycle", 5, 4) == rates("one-cycle", 5, 4, rise=0.3, start=25.0, end=1e4)


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("epochs", [1, 2])
def test_short_runs_have_finite_rates(name: str, epochs: int) -> None:
    assert all(0 < rate <= 1 for rate in rates(name, epochs, 1))


@pytest.mark.parametrize("name", OPTIMISERS)
def test_every_optimiser_lowers_a_parabola(name: str) -> None:
    x = nn.Parameter(torch.tensor([3.0]))
    optimiser = build_optimiser(name, [x], {"lr": 0.05})
    for _ in range(200):
        optimiser.zero_grad()
        (x**2).sum().backward()
        optimiser.step()
    assert x.detach().abs().item() < 0.3


class Noisy(nn.Module):
    """A step whose loss is w · (x + noise) · y."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return (self.weight * (x + torch.rand(1)) * y).sum()


def test_an_epoch_takes_one_step_per_batch_at_the_scheduled_rate() -> None:
    """SGD on w · z: w falls by lr · weight · z, where z follows from the seed of the batch."""
    step, x, y = Noisy(), torch.tensor([2.0]), torch.tensor([1.0])
    optimiser = build_optimiser("sgd", step.parameters(), {"lr": 0.1, "momentum": 0.0})
    schedule = Schedule(optimiser, "constant", {"warmup": 2}, epochs=2, steps=1)
    batches = [TrainingBatch(x, y, seed=3), TrainingBatch(x, y, seed=4, weight=0.5)]
    with torch.random.fork_rng(devices=[]):
        losses = [float(loss) for loss in train_epoch(step, optimiser, schedule, batches)]
    z = [float(x + torch.rand(1, generator=torch.Generator().manual_seed(seed))) for seed in (3, 4)]
    after_first = 1 - 0.05 * z[0]
    assert losses == pytest.approx([z[0], 0.5 * after_first * z[1]])
    assert step.weight.item() == pytest.approx(after_first - 0.1 * 0.5 * z[1])
    assert step.weight.grad is None


def test_what_backward_raises_leaves_the_weights_alone() -> None:
    step = Noisy()
    optimiser = build_optimiser("sgd", step.parameters(), {})
    schedule = Schedule(optimiser, "constant", {}, epochs=1, steps=1)

    def refuse(_: torch.Tensor) -> None:
        raise FloatingPointError

    batches = [TrainingBatch(torch.ones(1), torch.ones(1), seed=0)]
    with torch.random.fork_rng(devices=[]), pytest.raises(FloatingPointError):
        list(train_epoch(step, optimiser, schedule, batches, refuse))
    assert step.weight.item() == 1


def test_wrong_names_and_options_say_the_closest() -> None:
    def schedule(name: str, **options: Any) -> None:
        Schedule(sgd(), name, options, epochs=1, steps=1)

    with pytest.raises(ValueError, match="did you mean 'cosine'"):
        schedule("cosin")
    with pytest.raises(ValueError, match="did you mean 'milestones'"):
        schedule("steps", milestone=[3])
    with pytest.raises(TypeError, match="milestones must be a whole number"):
        schedule("steps", milestones=[1.5])
    with pytest.raises(ValueError, match="did you mean 'momentum'"):
        build_optimiser("sgd", [], {"momentun": 0.5})
    with pytest.raises(ValueError, match="lr must be > 0, got -1"):
        build_optimiser("sgd", [nn.Parameter(torch.zeros(1))], {"lr": -1})
