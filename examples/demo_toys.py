"""The toy problems of the paper, with the data, network and settings of its scripts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load, save
from sklearn.datasets import make_circles, make_moons
from sklearn.model_selection import train_test_split
from torch import Tensor, nn
from torch.nn import functional as F

import tailormix
from tailormix.atomic import write_atomically
from tailormix.metrics import accuracy, ece, nll
from tailormix.reports.boundary import bounding_box, confidence_grid

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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
TASKS = [(data, method) for data in DATA for method in METHODS]


@dataclass(frozen=True)
class Outcome:
    """One method on one problem.

    Attributes:
        data, method: their names.
        train, test: points (n, 2) and labels (n,).
        extent: the box that is drawn.
        grid: P(second class) over that box.
        scores: accuracy, ECE and NLL on the test points and on many fresh ones.

    """

    data: str
    method: str
    train: tuple[Array, Array]
    test: tuple[Array, Array]
    extent: tuple[float, float, float, float]
    grid: Array
    scores: dict[str, dict[str, float]]


def learn(epochs: int, path: Path) -> None:
    """Train all toys on 70 points each, full batch, with Adam, and write their weights to a file."""
    torch.set_num_threads(1)  # the networks are tiny
    data = {name: tuple(map(as_tensor, split(name)[0])) for name in DATA}
    batches = [(data[name][0], data[name][1][:, None]) for name, _ in TASKS]
    weights = train([METHODS[method]() for _, method in TASKS], batches, epochs)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, save(weights))


def train(
    methods: list[tailormix.Method], batches: list[tuple[Tensor, Tensor]], epochs: int
) -> dict[str, Tensor]:
    """Train all networks at once, as stacks of weights, which is much faster; they do not interact.

    Each is one hidden layer of 20 and one logit, as the released scripts build it, and starts from the same
    seed, as does the random stream that its method draws from.
    """
    weights, state = start(len(methods))
    streams = [torch.Generator() for _ in methods]
    for stream in streams:
        stream.set_state(state)
    optimiser = torch.optim.Adam(weights.values(), lr=1e-3, fused=True)
    for _ in range(epochs):
        mixed = [m(x, y, generator=s) for m, (x, y), s in zip(methods, batches, streams, strict=True)]
        x, y = (torch.stack(part) for part in zip(*mixed, strict=True))
        loss = F.binary_cross_entropy_with_logits(logits(weights, x), y, reduction="sum") / x.shape[1]
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return {name: weight.detach() for name, weight in weights.items()}


def start(models: int) -> tuple[dict[str, Tensor], Tensor]:
    """The first weights of every network, and the state of the generator after them."""
    with torch.random.fork_rng():
        torch.manual_seed(SEED)
        model = nn.Sequential(nn.Linear(2, 20), nn.ReLU(), nn.Linear(20, 1))
        state = torch.get_rng_state()
    first = {name: weight.detach() for name, weight in model.state_dict().items()}
    stacked = {name: torch.stack([weight] * models).requires_grad_() for name, weight in first.items()}
    return stacked, state


def logits(weights: dict[str, Tensor], x: Tensor) -> Tensor:
    """(models, n, 2) → (models, n, 1)."""
    hidden = torch.baddbmm(weights["0.bias"][:, None], x, weights["0.weight"].mT).relu()
    return torch.baddbmm(weights["2.bias"][:, None], hidden, weights["2.weight"].mT)


def split(data: str) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """70 points to train on and 30 to test on, with their labels."""
    points, labels = DATA[data](100, 0)
    x, x_test, y, y_test = train_test_split(points, labels, test_size=0.3, random_state=SPLIT_SEED)
    return (x, y), (x_test, y_test)


def outcomes(path: Path) -> list[Outcome]:
    """Predictions of the trained networks for 30 test points, 5000 fresh ones and the plane."""
    weights = load(path.read_bytes())
    return [
        outcome(data, method, {name: weight[k : k + 1] for name, weight in weights.items()})
        for k, (data, method) in enumerate(TASKS)
    ]


def outcome(data: str, method: str, weights: dict[str, Tensor]) -> Outcome:
    """The predictions of one network."""
    learned, tested = split(data)
    extent = bounding_box(np.concatenate((learned[0], tested[0])))
    parts = {"test": tested, "fresh": DATA[data](FRESH, FRESH_SEED)}
    return Outcome(
        data,
        method,
        learned,
        tested,
        extent,
        confidence_grid(lambda points: class_probabilities(weights, points)[:, 1].numpy(), extent),
        {part: scores(class_probabilities(weights, x), torch.as_tensor(y)) for part, (x, y) in parts.items()},
    )


def class_probabilities(weights: dict[str, Tensor], points: Array) -> Tensor:
    """(n, 2), in float64 so that a confident answer is not rounded to certainty."""
    logit = logits(weights, as_tensor(points)[None])[0].double()
    return torch.cat((-logit, logit), dim=1).sigmoid()


def scores(probabilities: Tensor, targets: Tensor) -> dict[str, float]:
    """What the table shows."""
    metrics = {"accuracy": accuracy, "ece": ece, "nll": nll}
    return {name: metric(probabilities, targets) for name, metric in metrics.items()}


def as_tensor(values: Array) -> Tensor:
    """In the precision that networks use."""
    return torch.as_tensor(values, dtype=torch.float32)
