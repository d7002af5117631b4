"""The toy problems of the paper, learned by a network of one hidden layer."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import nn

from tailormix import checks
from tailormix.metrics import accuracy, brier, ece, nll

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from tailormix.data import DataSplits, Split
    from tailormix.method import Method

SCORES = {"accuracy": accuracy, "ece": ece, "brier": brier, "nll": nll}


@dataclass(frozen=True)
class Recipe:
    """How a toy network is trained: the settings of the published pictures."""

    epochs: int = 5000
    lr: float = 1e-3
    hidden: int = 20
    seed: int = 987

    def __post_init__(self) -> None:
        checks.integer("epochs", self.epochs, at_least=1)
        checks.integer("hidden", self.hidden, at_least=1)
        checks.positive("lr", self.lr)


def train_toy(method: Method, x: Tensor, y: Tensor, recipe: Recipe) -> nn.Module:
    """Linear, ReLU, Linear to one logit; Adam on the full batch (n, 2) with binary cross-entropy.

    torch's random state and its number of threads are left as they were.
    """
    with one_thread(), torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(recipe.seed)
        model = nn.Sequential(nn.Linear(2, recipe.hidden), nn.ReLU(), nn.Linear(recipe.hidden, 1))
        optimiser = torch.optim.Adam(model.parameters(), lr=recipe.lr, fused=True)
        criterion, targets = nn.BCEWithLogitsLoss(), y.float()[:, None]
        for _ in range(recipe.epochs):
            optimiser.zero_grad()
            method.loss(model, x, targets, criterion).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    return model.eval()


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """While open, torch uses one thread: on networks this small more would only wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def believed(model: nn.Module, points: Tensor) -> Tensor:
    """P(class | point) of both classes, (n, 2), in float64: a sure answer is not rounded to certainty."""
    with torch.no_grad():
        logit = model(points.float()).double()
    return torch.cat((-logit, logit), dim=1).sigmoid()


def scored(model: nn.Module, points: Tensor, labels: Tensor) -> dict[str, float]:
    """Accuracy, ECE, Brier score and NLL on points (n, 2)."""
    probabilities = believed(model, points)
    return {name: float(score(probabilities, labels)) for name, score in SCORES.items()}


def points_of(split: Split) -> tuple[Tensor, Tensor]:
    """All points (n, 2) of a split, and their labels."""
    return split.batch(torch.arange(len(split)))


def all_points(splits: DataSplits) -> tuple[Tensor, Tensor]:
    """The points of all splits together."""
    parts = [points_of(split) for split in (splits.train, splits.validation, splits.test)]
    x, y = (torch.cat(one) for one in zip(*parts, strict=True))
    return x, y
