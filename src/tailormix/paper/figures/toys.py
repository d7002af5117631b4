"""Decision frontiers on Moons and Circles."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from tailormix import checks
from tailormix.metrics.classification import accuracy, brier, ece, nll
from tailormix.paper.drawing import FigureResult, settled, write_figure

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import NDArray
    from torch import Tensor

    from tailormix.data.splits import DataSplits, Split
    from tailormix.method import Method

    Points = tuple[Tensor, Tensor]
    Box = tuple[float, float, float, float]

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


DEFAULTS: dict[str, Any] = {
    "epochs": 5000,
    "lr": 1e-3,
    "hidden": 20,
    "seed": 987,
    "alpha": 5.0,
    "tau_max": 5.0,
    "tau_std": 0.2,
    "distances": ["squared", "plain"],
    "fresh": 5000,
}
DISTANCES = ("squared", "plain")
FRESH_SEED = 1


@dataclass(frozen=True, eq=False)
class Frontier:
    """A method's title, its P(second class) over the box that is drawn, and its scores by set of points."""

    title: str
    grid: NDArray[np.floating]
    scores: dict[str, dict[str, float]]


def make_toy(data: str, settings: dict[str, Any], out: Path) -> FigureResult:
    """Train on the paper's 70 points and draw what each method believes (needs no run).

    Settings: ``epochs``, ``lr``, ``hidden`` units, ``seed``; ``alpha`` of Mixup; ``tau_max``, ``tau_std`` and
    ``distances`` of SK Mixup (a panel each: ``"squared"`` as in Eq. 5, ``"plain"`` as in the published
    pictures); how many ``fresh`` points the scores are taken on, besides the 30 test points.
    """
    from tailormix import data as datasets
    from tailormix.reports.boundary import bounding_box

    chosen = settled(settings, DEFAULTS)
    recipe = Recipe(**{key: chosen[key] for key in ("epochs", "lr", "hidden", "seed")})
    splits = datasets.load(data, protocol="as-published")
    asked = {
        "test": points_of(splits.test),
        "fresh": all_points(datasets.load(data, seed=FRESH_SEED, n=chosen["fresh"])),
    }
    train, extent = points_of(splits.train), bounding_box(all_points(splits)[0].numpy())
    found = [_frontier(title, one, recipe, train, asked, extent) for title, one in methods(chosen).items()]
    scores = {one.title: one.scores for one in found}
    facts = {"caption": _caption(data), "settings": chosen, "scores": scores}
    return write_figure(draw_frontiers(found, extent, train, asked["test"]), data, out, facts)


def methods(chosen: dict[str, Any]) -> dict[str, Method]:
    """The methods by their titles."""
    from tailormix.methods import build_method

    found = {"ERM": build_method("erm"), "Mixup": build_method("mixup", alpha=chosen["alpha"])}
    for kind in chosen["distances"]:
        squared = checks.known("distance", kind, DISTANCES) == "squared"
        kernel = {key: chosen[key] for key in ("tau_max", "tau_std")}
        found[f"SK Mixup, {kind} distance"] = build_method(
            "sk-mixup", space="input", squared=squared, **kernel
        )
    return found


def _frontier(
    title: str, method: Method, recipe: Any, train: Points, asked: dict[str, Points], extent: Box
) -> Frontier:
    from tailormix.reports.boundary import confidence_grid

    model = train_toy(method, *train, recipe)
    grid = confidence_grid(lambda points: believed(model, torch.from_numpy(points))[:, 1].numpy(), extent)
    return Frontier(title, grid, {name: scored(model, *points) for name, points in asked.items()})


def draw_frontiers(found: list[Frontier], extent: Box, train: Points, test: Points) -> Figure:
    """One panel a method; accuracy and ECE below its title are those on fresh points."""
    from tailormix.reports.boundary import draw_boundary
    from tailormix.reports.style import INK, QUIET, new_figure

    figure = new_figure(3.0 * len(found), 3.1)
    known, held = ((points.numpy(), labels.numpy()) for points, labels in (train, test))
    for axes, one in zip(figure.subplots(1, len(found), squeeze=False)[0], found, strict=True):
        draw_boundary(axes, one.grid, extent, known, held)
        score = one.scores["fresh"]
        text = f"accuracy {100 * score['accuracy']:.1f} %, ECE {100 * score['ece']:.1f} %"
        axes.set_title(one.title, fontsize=11, color=INK, loc="left", pad=19)
        axes.text(0, 1.02, text, transform=axes.transAxes, fontsize=9, color=QUIET, va="bottom")
    return figure


def _caption(data: str) -> str:
    return (
        f"{data.capitalize()}: belief as colour, frontier as line, training points as circles and test "
        "points as stars; accuracy and ECE are those on fresh points."
    )


def make_moons(settings: dict[str, Any], runs: Path, out: Path) -> FigureResult:
    """See :func:`make_toy`."""
    del runs
    return make_toy("moons", settings, out)


def make_circles(settings: dict[str, Any], runs: Path, out: Path) -> FigureResult:
    """See :func:`make_toy`."""
    del runs
    return make_toy("circles", settings, out)
