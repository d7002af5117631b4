"""Training in memory: passes over tensors with any method, and early stopping on rows held out."""

from __future__ import annotations

import copy
import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from tailormix.training.optimisers import build_optimiser
from tailormix.training.schedules import Position, schedule

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor, optim

    from tailormix.method import Step
    from tailormix.training.reporting import Reporter


@dataclass(frozen=True)
class Recipe:
    """How long and how fast: AdamW with half a cosine wave of the learning rate.

    ``patience`` is the number of epochs without a better validation loss that ends training; ``None`` never
    looks at it.
    """

    learning_rate: float
    weight_decay: float
    batch_size: int
    epochs: int
    patience: int | None


@dataclass(frozen=True)
class History:
    """Mean training loss of each epoch, and validation loss of each where it was looked at."""

    losses: tuple[float, ...]
    validation: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class Rows:
    """Inputs (n, d) and targets, class indices (n,) or real (n, outputs)."""

    x: Tensor
    y: Tensor

    def __len__(self) -> int:
        return len(self.x)


def make_optimiser(step: Step, recipe: Recipe) -> optim.Optimizer:
    """AdamW over the module of a step."""
    options = {"lr": recipe.learning_rate, "weight_decay": recipe.weight_decay}
    return build_optimiser("adamw", step.model.parameters(), options)


def train(step: Step, rows: Rows, recipe: Recipe, judge: Callable[[], float], report: Reporter) -> History:
    """Train ``step.model`` in place; with patience its best weights are put back at the end.

    ``judge`` gives the validation loss; it is called once an epoch, and only with patience.
    """
    optimiser, factor = make_optimiser(step, recipe), schedule("cosine", {})
    losses: list[float] = []
    validation: list[float] = []
    best = copy.deepcopy(step.model.state_dict())
    for epoch in range(recipe.epochs):
        start = time.monotonic()
        place = Position(epoch, 0, recipe.epochs, 1)
        losses.append(one_pass(step, optimiser, rows, recipe, factor(place)))
        row: dict[str, Any] = {"epoch": epoch + 1, "loss": losses[-1], "seconds": time.monotonic() - start}
        if recipe.patience is not None:
            validation.append(judge())
            row["validation"] = {"validation loss": validation[-1]}
            if validation[-1] <= min(validation):
                best = copy.deepcopy(step.model.state_dict())
        report(row, recipe.epochs)
        if recipe.patience is not None and epoch - _lowest(validation) >= recipe.patience:
            break
    if recipe.patience is not None:
        step.model.load_state_dict(best)
    return History(tuple(losses), tuple(validation))


def one_pass(
    step: Step, optimiser: optim.Optimizer, rows: Rows, recipe: Recipe, factor: float = 1.0
) -> float:
    """One epoch over rows in random order, in batches whose sizes differ by at most one; the mean loss."""
    for group in optimiser.param_groups:
        group["lr"] = recipe.learning_rate * factor
    step.train()
    total = 0.0
    for batch in torch.randperm(len(rows)).tensor_split(math.ceil(len(rows) / recipe.batch_size)):
        loss = step(rows.x[batch], rows.y[batch])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        total += float(loss.detach()) * len(batch)
    if not math.isfinite(total):
        raise ValueError(
            f"training diverged, the loss is {total}: lower learning_rate={recipe.learning_rate}"
        )
    return total / len(rows)


def _lowest(values: list[float]) -> int:
    """Where the last of the smallest values is."""
    return len(values) - 1 - values[::-1].index(min(values))
