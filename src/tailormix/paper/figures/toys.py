"""Decision frontiers on Moons and Circles."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from tailormix import checks, data
from tailormix.methods import build_method
from tailormix.metrics.classification import accuracy, brier, ece, nll
from tailormix.paper.drawing import FigureResult, figure_settings, write_figure
from tailormix.reports.boundary import bounding_box, confidence_grid, draw_boundary
from tailormix.reports.style import INK, QUIET, new_figure

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
SCORES = {"accuracy": accuracy, "ece": ece, "brier": brier, "nll": nll}


@dataclass(frozen=True)
class TrainingOptions:
    """How a toy network is trained: the settings of the published figures."""

    epochs: int = 5000
    lr: float = 1e-3
    hidden: int = 20
    seed: int = 987

    def __post_init__(self) -> None:
        checks.integer("epochs", self.epochs, at_least=1)
        checks.integer("hidden", self.hidden, at_least=1)
        checks.positive("lr", self.lr)


@dataclass(frozen=True, eq=False)
class Frontier:
    """A method's title, its P(second class) over the box that is drawn, and its scores by set of points."""

    title: str
    grid: NDArray[np.floating]
    scores: dict[str, dict[str, float]]


def make_moons(settings: dict[str, Any], runs: Path, out: Path) -> FigureResult:
    """See :func:`make_toy`."""
    del runs
    return make_toy("moons", settings, out)


def make_circles(settings: dict[str, Any], runs: Path, out: Path) -> FigureResult:
    """See :func:`make_toy`."""
    del runs
    return make_toy("circles", settings, out)


def make_toy(name: str, settings: dict[str, Any], out: Path) -> FigureResult:
    """Train on the paper's 70 points and draw the confidence of each method (needs no run).

    Settings: ``epochs``, ``lr``, ``hidden`` units, ``seed``; ``alpha`` of Mixup; ``tau_max``, ``tau_std`` and
    ``distances`` of SK Mixup (a panel each: ``"squared"`` as in Eq. 5, ``"plain"`` as in the published
    figures); how many ``fresh`` points the scores are taken on, besides the 30 test points.
    """
    chosen = figure_settings(settings, DEFAULTS)
    options = TrainingOptions(**{key: chosen[key] for key in ("epochs", "lr", "hidden", "seed")})
    splits = data.load(name, protocol="as-published")
    train, everything = _points(splits.train), _all_points(splits)
    box = bounding_box(everything[0].numpy())
    tests = {
        "test": _points(splits.test),
        "fresh": _all_points(data.load(name, seed=FRESH_SEED, n=chosen["fresh"])),
    }
    found = []
    for title, method in _methods(chosen).items():
        model = train_toy(method, *train, options)
        grid = confidence_grid(partial(_second_class, model), box)
        found.append(Frontier(title, grid, {key: _scores(model, *points) for key, points in tests.items()}))
    caption = (
        f"{name.capitalize()}: confidence as colour, frontier as line, training points as circles and test "
        "points as stars; accuracy and ECE are those on fresh points."
    )
    facts = {"caption": caption, "settings": chosen, "scores": {one.title: one.scores for one in found}}
    return write_figure(_draw(found, box, train, tests["test"]), name, out, facts)


def _methods(chosen: dict[str, Any]) -> dict[str, Method]:
    """The methods by their titles."""
    found = {"ERM": build_method("erm"), "Mixup": build_method("mixup", alpha=chosen["alpha"])}
    kernel = {key: chosen[key] for key in ("tau_max", "tau_std")}
    for distance in chosen["distances"]:
        squared = checks.known("distance", distance, DISTANCES) == "squared"
        title = f"SK Mixup, {distance} distance"
        found[title] = build_method("sk-mixup", space="input", squared=squared, **kernel)
    return found


def _points(split: Split) -> Points:
    """All points (n, 2) of a split, and their labels."""
    return split.batch(torch.arange(len(split)))


def _all_points(splits: DataSplits) -> Points:
    """The points of all splits together."""
    parts = [_points(split) for split in (splits.train, splits.validation, splits.test)]
    x, y = (torch.cat(one) for one in zip(*parts, strict=True))
    return x, y


def train_toy(method: Method, x: Tensor, y: Tensor, options: TrainingOptions) -> nn.Module:
    """Linear, ReLU, Linear to one logit; Adam on the full batch (n, 2) with binary cross-entropy.

    torch's random state and its number of threads are left as they were.
    """
    with one_thread(), torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(options.seed)
        model = nn.Sequential(nn.Linear(2, options.hidden), nn.ReLU(), nn.Linear(options.hidden, 1))
        optimiser = torch.optim.Adam(model.parameters(), lr=options.lr, fused=True)
        criterion, targets = nn.BCEWithLogitsLoss(), y.float()[:, None]
        for _ in range(options.epochs):
            optimiser.zero_grad()
            method.loss(model, x, targets, criterion).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    return model.eval()


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """While open, torch uses one thread: more would only slow down networks this small."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _probabilities(model: nn.Module, points: Tensor) -> Tensor:
    """P(class | point) of both classes, (n, 2), in float64, so that high confidence is not rounded to 1."""
    with torch.no_grad():
        logit = model(points.float()).double()
    return torch.cat((-logit, logit), dim=1).sigmoid()


def _second_class(model: nn.Module, points: NDArray[np.floating]) -> NDArray[np.floating]:
    found: NDArray[np.floating] = _probabilities(model, torch.from_numpy(points))[:, 1].numpy()
    return found


def _scores(model: nn.Module, points: Tensor, labels: Tensor) -> dict[str, float]:
    """Accuracy, ECE, Brier score and NLL on points (n, 2)."""
    probabilities = _probabilities(model, points)
    return {name: float(score(probabilities, labels)) for name, score in SCORES.items()}


def _draw(found: list[Frontier], box: Box, train: Points, test: Points) -> Figure:
    """One panel per method; accuracy and ECE below its title are those on fresh points."""
    figure = new_figure(3.0 * len(found), 3.1)
    shown = [(points.numpy(), labels.numpy()) for points, labels in (train, test)]
    for axes, one in zip(figure.subplots(1, len(found), squeeze=False)[0], found, strict=True):
        draw_boundary(axes, one.grid, box, *shown)
        score = one.scores["fresh"]
        text = f"accuracy {100 * score['accuracy']:.1f} %, ECE {100 * score['ece']:.1f} %"
        axes.set_title(one.title, fontsize=11, color=INK, loc="left", pad=19)
        axes.text(0, 1.02, text, transform=axes.transAxes, fontsize=9, color=QUIET, va="bottom")
    return figure
