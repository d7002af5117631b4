"""Decision frontiers in the plane: plain training, Mixup and SK Mixup on one toy problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailormix import checks

from .record import FigureResult, settled, write_figure

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import NDArray
    from torch import Tensor

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
    from tailormix.reports.boundary import extent_of

    from .toy_training import Recipe, all_points, points_of

    chosen = settled(settings, DEFAULTS)
    recipe = Recipe(**{key: chosen[key] for key in ("epochs", "lr", "hidden", "seed")})
    splits = datasets.load(data, protocol="as-published")
    asked = {
        "test": points_of(splits.test),
        "fresh": all_points(datasets.load(data, seed=FRESH_SEED, n=chosen["fresh"])),
    }
    train, extent = points_of(splits.train), extent_of(all_points(splits)[0].numpy())
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
    import torch

    from tailormix.reports.boundary import confidence_grid

    from .toy_training import believed, scored, train_toy

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
