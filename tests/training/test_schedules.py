"""Schedules against torch's own, and the optimisers' names."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from torch import nn, optim

from tailormix.training import OPTIMISERS, SCHEDULES, build_optimiser, schedule
from tailormix.training.optimisation import Position

EPOCHS, STEPS = 5, 4


def rates(make: Any, *, every_step: bool) -> list[float]:
    """What torch's scheduler sets at each of the 20 steps, from lr = 1."""
    optimiser = optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    reference = make(optimiser)
    found = []
    for _ in range(EPOCHS):
        for _ in range(STEPS):
            found.append(optimiser.param_groups[0]["lr"])
            optimiser.step()
            if every_step:
                reference.step()
        if not every_step:
            reference.step()
    return found


def ours(name: str, **options: Any) -> list[float]:
    factor = schedule(name, options)
    return [factor(Position(e, s, EPOCHS, STEPS)) for e in range(EPOCHS) for s in range(STEPS)]


def test_steps_are_those_of_torch() -> None:
    expected = rates(lambda o: optim.lr_scheduler.MultiStepLR(o, [2, 4], 0.1), every_step=False)
    assert ours("steps", milestones=[2, 4], factor=0.1) == pytest.approx(expected)


def test_cosine_is_that_of_torch() -> None:
    expected = rates(lambda o: optim.lr_scheduler.CosineAnnealingLR(o, EPOCHS, 0.25), every_step=False)
    assert ours("cosine", minimum=0.25) == pytest.approx(expected)


def test_one_cycle_is_that_of_torch() -> None:
    """Torch's own takes one step more than there are rates: its last call is never used."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        expected = rates(
            lambda o: optim.lr_scheduler.OneCycleLR(o, 1.0, EPOCHS * STEPS + 1, cycle_momentum=False),
            every_step=True,
        )
    factor = schedule("one-cycle", {})
    found = [factor(Position(0, step, 1, EPOCHS * STEPS + 1)) for step in range(EPOCHS * STEPS)]
    assert found == pytest.approx(expected)


def test_warm_up_rises_step_by_step_and_then_leaves_the_schedule_alone() -> None:
    """Two epochs of four steps: 1/8, 2/8, ... 8/8."""
    assert ours("constant", warmup=2)[:9] == pytest.approx([*(k / 8 for k in range(1, 9)), 1.0])
    assert ours("cosine", warmup=2)[8:] == pytest.approx(ours("cosine")[8:])


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("epochs", [1, 2])
def test_short_runs_have_finite_rates(name: str, epochs: int) -> None:
    factor = schedule(name, {})
    found = [factor(Position(epoch, 0, epochs, 1)) for epoch in range(epochs)]
    assert all(0 <= value <= 1 for value in found)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_every_optimiser_lowers_a_parabola(name: str) -> None:
    x = nn.Parameter(torch.tensor([3.0]))
    optimiser = build_optimiser(name, [x], {"lr": 0.05})
    for _ in range(200):
        optimiser.zero_grad()
        (x**2).sum().backward()
        optimiser.step()
    assert x.detach().abs().item() < 0.3


def test_wrong_names_and_options_say_the_closest() -> None:
    with pytest.raises(ValueError, match="did you mean 'cosine'"):
        schedule("cosin", {})
    with pytest.raises(ValueError, match="did you mean 'milestones'"):
        schedule("steps", {"milestone": [3]})
    with pytest.raises(ValueError, match="did you mean 'momentum'"):
        build_optimiser("sgd", [], {"momentun": 0.5})
    with pytest.raises(ValueError, match="lr must be > 0, got -1"):
        build_optimiser("sgd", [nn.Parameter(torch.zeros(1))], {"lr": -1})
