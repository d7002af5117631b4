"""Toy problems whose true probabilities are known, and small networks that learn them from few points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load, save
from torch import Tensor, nn
from torch.nn import functional as F

import tailormix
from tailormix.atomic import write_atomically
from tailormix.reports.boundary import bounding_box, confidence_grid

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Array = NDArray[np.float64]
POINTS, FRESH, FRESH_SEED = 100, 4000, 1_000_000
HIDDEN, RATE = 64, 3e-3
EPOCHS, SEEDS = 1000, 5
PICTURED = 0  # the seed that is drawn
CURVE_POINTS = 400  # of the integral along a curve


@dataclass(frozen=True)
class Toy:
    """Two equally frequent classes, each a curve with noise: x = curve_y(t) + noise · N(0, 1), t ~ U(0, 1).

    So p(x | y) = ∫₀¹ N(x; curve_y(t), noise² 1) dt, and Bayes' rule gives the true probability of each class.
    """

    name: str
    curves: tuple[Callable[[Array], Array], Callable[[Array], Array]]
    noise: float

    def draw(self, n: int, seed: int) -> tuple[Array, NDArray[np.int64]]:
        """Points (n, 2) and their classes (n,)."""
        random = np.random.default_rng(seed)
        t, labels = random.uniform(size=n), random.integers(0, 2, n)
        first, second = (curve(t) for curve in self.curves)
        centres = np.where(labels[:, None] == 0, first, second)
        return centres + self.noise * random.normal(size=(n, 2)), labels

    def truth(self, points: Array) -> Array:
        """The true probability of the second class at points (n, 2)."""
        t = (np.arange(CURVE_POINTS) + 0.5) / CURVE_POINTS
        first, second = (self._log_density(points, curve(t)) for curve in self.curves)
        return (second - first).sigmoid().numpy()

    def _log_density(self, points: Array, centres: Array) -> Tensor:
        """Logarithm of p(x | y), up to a constant that both classes share."""
        squared = torch.cdist(torch.from_numpy(points), torch.from_numpy(centres)).square()
        return (-squared / (2 * self.noise**2)).logsumexp(1)


def _arc(x: float, y: float, radius: float, turns: float, sign: float = 1) -> Callable[[Array], Array]:
    """A part of a circle around (x, y), from angle 0 through so many turns."""

    def curve(t: Array) -> Array:
        angle = 2 * np.pi * turns * t
        return np.stack((x + sign * radius * np.cos(angle), y + sign * radius * np.sin(angle)), axis=1)

    return curve


TOYS = (
    Toy("Moons", (_arc(0, 0, 1, 0.5), _arc(1, 0.5, 1, 0.5, sign=-1)), noise=0.35),
    Toy("Circles", (_arc(0, 0, 1, 1), _arc(0, 0, 0.5, 1)), noise=0.25),
)
METHODS = {
    "Plain training": tailormix.ERM(),
    "Mixup": tailormix.Mixup(alpha=1.0),
    "SK Mixup": tailormix.SKMixup(tau_max=1.0, tau_std=0.25, space="input"),
}


@dataclass(frozen=True)
class Outcome:
    """What a method has learned of a toy.

    Attributes:
        method: its name.
        grid: P(second class) over the toy's box, of the pictured seed.
        off: mean |p - truth| on fresh points, for each seed.
        sure: mean confidence, for each seed.
        right: expected share of right answers, for each seed.

    """

    method: str
    grid: Array
    off: tuple[float, ...]
    sure: tuple[float, ...]
    right: tuple[float, ...]


@dataclass(frozen=True)
class ToyResult:
    """A toy with its truth, the points of the picture, the best possible accuracy, and what was learned."""

    toy: Toy
    box: tuple[float, float, float, float]
    train: tuple[Array, NDArray[np.int64]]
    truth: Array
    best: float
    outcomes: tuple[Outcome, ...]


def tasks(seeds: int) -> list[tuple[Toy, str, int]]:
    """Every toy, method and seed, in the order of the stacked weights."""
    return [(toy, method, seed) for toy in TOYS for method in METHODS for seed in range(seeds)]


def learn(epochs: int, seeds: int, path: Path) -> None:
    """Train all networks and write their weights to a file."""
    torch.set_num_threads(1)  # the networks are tiny
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, save(train(tasks(seeds), epochs)))


def train(chosen: list[tuple[Toy, str, int]], epochs: int) -> dict[str, Tensor]:
    """Train all networks at once, as stacks of weights, which is much faster; they do not interact.

    Each learns 100 points, full batch, with Adam. The seed is that of points, first weights and mixing.
    """
    drawn = [toy.draw(POINTS, seed) for toy, _, seed in chosen]
    batches = [(as_tensor(x), as_tensor(y)[:, None]) for x, y in drawn]
    methods = [METHODS[method] for _, method, _ in chosen]
    streams = [torch.Generator().manual_seed(seed) for *_, seed in chosen]
    first = [network(seed).state_dict() for *_, seed in chosen]
    weights = {name: torch.stack([one[name] for one in first]).requires_grad_() for name in first[0]}
    optimiser = torch.optim.Adam(weights.values(), lr=RATE, fused=True)
    for _ in range(epochs):
        mixed = [m(x, y, generator=s) for m, (x, y), s in zip(methods, batches, streams, strict=True)]
        x, y = (torch.stack(part) for part in zip(*mixed, strict=True))
        loss = F.binary_cross_entropy_with_logits(logits(weights, x), y, reduction="sum") / POINTS
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return {name: weight.detach() for name, weight in weights.items()}


def network(seed: int) -> nn.Sequential:
    """Two hidden layers and one logit, with the first weights of a seed."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(
            nn.Linear(2, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 1)
        )


def logits(weights: dict[str, Tensor], x: Tensor) -> Tensor:
    """(models, n, 2) → (models, n, 1)."""
    for layer in ("0", "2", "4"):
        x = torch.baddbmm(weights[f"{layer}.bias"][:, None], x, weights[f"{layer}.weight"].mT)
        x = x if layer == "4" else x.relu()
    return x


def results(path: Path, seeds: int) -> list[ToyResult]:
    """What the networks of a file say, beside the truth."""
    weights = load(path.read_bytes())
    chosen = tasks(seeds)
    found = []
    for toy in TOYS:
        learned = toy.draw(POINTS, PICTURED)
        box = bounding_box(learned[0], 0.25)
        fresh, _ = toy.draw(FRESH, FRESH_SEED)
        truth = toy.truth(fresh)
        outcomes = []
        for method in METHODS:
            stacks = [chosen.index((toy, method, seed)) for seed in range(seeds)]
            own = {name: weight[stacks] for name, weight in weights.items()}
            outcomes.append(outcome(method, own, fresh, truth, box))
        best = float(np.maximum(truth, 1 - truth).mean())
        found.append(ToyResult(toy, box, learned, confidence_grid(toy.truth, box), best, tuple(outcomes)))
    return found


def outcome(
    method: str,
    weights: dict[str, Tensor],
    fresh: Array,
    truth: Array,
    box: tuple[float, float, float, float],
) -> Outcome:
    """Compare the seeds of a method with the truth."""
    p = probabilities(weights, fresh)
    chance = np.where(p > 0.5, truth, 1 - truth)  # of the answer that is given
    pictured = {name: weight[PICTURED : PICTURED + 1] for name, weight in weights.items()}
    return Outcome(
        method,
        confidence_grid(lambda points: probabilities(pictured, points)[0], box),
        off=tuple(np.abs(p - truth).mean(1).tolist()),
        sure=tuple(np.maximum(p, 1 - p).mean(1).tolist()),
        right=tuple(chance.mean(1).tolist()),
    )


def probabilities(weights: dict[str, Tensor], points: Array) -> Array:
    """P(second class), (models, n)."""
    models = len(weights["0.bias"])
    x = as_tensor(points).expand(models, -1, -1)
    return logits(weights, x)[..., 0].double().sigmoid().numpy()


def as_tensor(values: NDArray[np.generic]) -> Tensor:
    """In the precision that networks use."""
    return torch.as_tensor(values, dtype=torch.float32)
