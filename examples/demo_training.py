"""The toy problems of the paper, and how they are learned: data, network and settings of its scripts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.datasets import make_circles, make_moons
from sklearn.model_selection import train_test_split
from torch import Tensor, nn

import tailormix
from tailormix.metrics import accuracy, ece, nll
from tailormix.reports.boundary import confidence_grid, extent_of

if TYPE_CHECKING:
    from collections.abc import Callable

Array = NDArray[np.float64]
SEED, SPLIT_SEED, FRESH_SEED, FRESH = 987, 42, 1, 5000

DATA: dict[str, Callable[[int, int], tuple[Array, Array]]] = {
    "Moons": lambda n, seed: make_moons(n, noise=0.15, random_state=seed),
    "Circles": lambda n, seed: make_circles(n, factor=0.5, noise=0.1, random_state=seed),
}
METHODS: dict[str, Callable[[], tailormix.Method]] = {
    "ERM": tailormix.ERM,
    "Mixup": lambda: tailormix.Mixup(alpha=5.0),
    "SK Mixup": lambda: tailormix.SKMixup(tau_max=5.0, tau_std=0.2, space="input"),
    "SK Mixup, unsquared": lambda: tailormix.SKMixup(5.0, 0.2, space="input", squared=False),
}


@dataclass(frozen=True)
class Outcome:
    """One method on one problem.

    Attributes:
        data, method: their names.
        train, test: points (n, 2) and labels (n,).
        extent: the box that is drawn.
        grid: P(second class) over that box.
        scores: accuracy, ECE and NLL on the test points and on many fresh ones.
        reliability: mean confidence, accuracy and share of samples, for each bin of confidence that has any.

    """

    data: str
    method: str
    train: tuple[Array, Array]
    test: tuple[Array, Array]
    extent: tuple[float, float, float, float]
    grid: Array
    scores: dict[str, dict[str, float]]
    reliability: list[tuple[float, float, float]]


def learn(data: str, method: str, epochs: int) -> Outcome:
    """Train on 70 points, full batch, with Adam; then ask about 30 test points and 5000 fresh ones."""
    torch.set_num_threads(1)  # the networks are tiny: threads would only wait for each other
    points, labels = DATA[data](100, 0)
    x, x_test, y, y_test = train_test_split(points, labels, test_size=0.3, random_state=SPLIT_SEED)
    model = train(METHODS[method](), as_tensor(x), as_tensor(y)[:, None], epochs)
    extent = extent_of(points)
    parts = {"test": (x_test, y_test), "fresh": DATA[data](FRESH, FRESH_SEED)}
    answers = {part: (class_probabilities(model, a), torch.as_tensor(b)) for part, (a, b) in parts.items()}
    return Outcome(
        data,
        method,
        (x, y),
        (x_test, y_test),
        extent,
        confidence_grid(lambda p: class_probabilities(model, p)[:, 1].numpy(), extent),
        {part: scores(*answer) for part, answer in answers.items()},
        reliability(*answers["fresh"]),
    )


def train(method: tailormix.Method, x: Tensor, y: Tensor, epochs: int) -> nn.Module:
    """One hidden layer of 20 and one logit, as the released scripts build it."""
    torch.manual_seed(SEED)
    model = nn.Sequential(nn.Linear(2, 20), nn.ReLU(), nn.Linear(20, 1))
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    criterion = nn.BCEWithLogitsLoss()
    for _ in range(epochs):
        optimiser.zero_grad()
        method.loss(model, x, y, criterion).backward()
        optimiser.step()
    return model.eval()


def class_probabilities(model: nn.Module, points: Array) -> Tensor:
    """(n, 2), in float64 so that a confident answer is not rounded to certainty."""
    with torch.no_grad():
        logit = model(as_tensor(points)).double()
    return torch.cat((-logit, logit), dim=1).sigmoid()


def scores(probabilities: Tensor, targets: Tensor) -> dict[str, float]:
    """What the table shows."""
    metrics = {"accuracy": accuracy, "ece": ece, "nll": nll}
    return {name: metric(probabilities, targets) for name, metric in metrics.items()}


def reliability(probabilities: Tensor, targets: Tensor, bins: int = 10) -> list[tuple[float, float, float]]:
    """(confidence, accuracy, share) for each bin of the confidence from ½ to 1 that is not nearly empty."""
    confidence, predicted = probabilities.max(1)
    index = ((confidence - 0.5) * 2 * bins).long().clamp(max=bins - 1)
    right = (predicted == targets).double()
    kept = [index == b for b in range(bins) if int((index == b).sum()) >= 20]
    return [(float(confidence[m].mean()), float(right[m].mean()), float(m.double().mean())) for m in kept]


def as_tensor(values: Array) -> Tensor:
    """In the precision that networks use."""
    return torch.as_tensor(values, dtype=torch.float32)
