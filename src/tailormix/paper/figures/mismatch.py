"""Manifold mismatch: how often a model predicts one of the two mixed labels, against the pair's distance.

Serves both of the paper's figures: ``coefficients = "uniform"`` and ``coefficients = "similarity-kernel"``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy.stats import binomtest

from tailormix import checks
from tailormix.batch import Plan
from tailormix.embeddings import catch_input
from tailormix.kernel import as_rows, similarity_kernel
from tailormix.paper.drawing import FigureResult, figure_settings, find_seeds, trained_model, write_figure
from tailormix.reports.style import BLUE, ORANGE, QUIET, new_figure, percent_axis, plain_axes
from tailormix.warping import warp

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray
    from torch import Tensor, nn

    from tailormix.data.splits import Split

    Numbers = NDArray[np.float64]
    Flags = NDArray[np.bool_]
    Curves = dict[str, "AgreementCurve"]


DEFAULTS: dict[str, Any] = {
    "coefficients": "uniform",
    "models": [
        {
            "title": "CIFAR-10, ResNet-8",
            "where": {"data": {"name": "cifar10"}, "model": {"name": "resnet8"}, "method": {"name": "erm"}},
        }
    ],
    "pairs": 10_000,
    "tau_max": 1.0,
    "tau_std": 0.25,
    "bins": 12,
    "seed": 0,
}
COEFFICIENTS = {"uniform": "mismatch", "similarity-kernel": "mismatch-sk"}
#: how the coefficient λ of a pair is made from u ~ U(0, 1) and the pair's τ
LAWS = {
    "unmixed": "first image alone, λ = 1",
    "uniform": "λ uniform",
    "similarity-kernel": "λ of the similarity kernel",
}
ROWS = 1000  # of a split, at a time


def make(settings: dict[str, Any], runs: Path, out: Path) -> FigureResult:
    """Draw P(ŷ ∈ {y, y'}) against d̄ for one finished run of each entry of ``models``.

    Settings: ``coefficients``; ``models``, each with a ``title`` and the ``where`` that finds its runs (the
    first seed is used); ``pairs``, ``tau_max``, ``tau_std``, ``bins``, ``seed``. The facts are those of all
    pairs, and of pairs whose two images the model gets right, where a mismatch is due to mixing alone.
    """
    chosen = figure_settings(settings, DEFAULTS)
    name = COEFFICIENTS[checks.known("coefficients", chosen["coefficients"], COEFFICIENTS)]
    facts: dict[str, Any] = {"caption": _caption(chosen), "settings": chosen, "models": {}}
    panels: dict[str, Curves] = {}
    for model in chosen["models"]:
        title = model["title"]
        panels[title], facts["models"][title] = _measure(model["where"], runs, chosen)
    return write_figure(_draw_panels(panels, chosen["coefficients"]), name, out, facts)


def _measure(where: dict[str, Any], runs: Path, chosen: dict[str, Any]) -> tuple[Curves, dict[str, Any]]:
    """The curves to be drawn, and all numbers."""
    run = find_seeds(runs, where)[0]
    model, splits = trained_model(run)
    options = {key: chosen[key] for key in ("pairs", "tau_max", "tau_std", "seed")}
    found = mixed_pairs(model, splits.test, **options)
    curves: dict[str, Curves] = {}
    facts: dict[str, Any] = {
        "run": run.path.relative_to(runs).as_posix(),
        "split": "test",
        "test accuracy": run.result["test"]["before"]["accuracy"],
    }
    for ends, kept in (("all", np.ones_like(found.both_right)), ("right", found.both_right)):
        curves[ends] = {
            law: agreement_curve(found.distance[kept], hit[kept], n_bins=chosen["bins"])
            for law, hit in found.agreeing.items()
        }
        facts[ends] = _summary(found, kept, curves[ends])
    return curves["all"], facts


def _summary(found: MixedPairs, kept: Flags, curves: Curves) -> dict[str, Any]:
    """Shares over the pairs in ``kept`` (n,) and over those of two classes; the curve and its ends."""
    other = kept & ~found.same_class
    laws = {
        law: {
            "agreement": float(hit[kept].mean()),
            "mismatch": float(1 - hit[kept].mean()),
            "agreement of two classes": float(hit[other].mean()) if other.any() else None,
            "nearest": float(curves[law].agreement[0]),
            "farthest": float(curves[law].agreement[-1]),
            "curve": curves[law].as_dict(),
        }
        for law, hit in found.agreeing.items()
    }
    same = int((kept & found.same_class).sum())
    return {"pairs": int(kept.sum()), "pairs of one class": same, "laws": laws}


def _caption(chosen: dict[str, Any]) -> str:
    law = "uniform coefficients"
    if chosen["coefficients"] != "uniform":
        law = f"coefficients of the similarity kernel (τ_max {chosen['tau_max']}, τ_std {chosen['tau_std']})"
    return (
        f"How often the class predicted for a mixed image is one of its two labels, against the squared "
        f"embedding distance of the pair relative to the average; {chosen['pairs']} pairs of test images, "
        f"{law}; Wilson intervals of 95 %."
    )


@dataclass(frozen=True, eq=False)
class MixedPairs:
    """What is known of each pair, (n,) each.

    Attributes:
        distance: d̄, squared and relative to the mean (Eq. 5).
        same_class: whether both are of one class.
        both_right: whether the model is right about both before they are mixed.
        agreeing: under each law of the coefficient, whether ŷ is one of the two labels.

    """

    distance: NDArray[np.float32]
    same_class: Flags
    both_right: Flags
    agreeing: dict[str, Flags]


def mixed_pairs(
    model: nn.Module,
    split: Split,
    *,
    pairs: int = 10_000,
    tau_max: float = 1.0,
    tau_std: float = 0.25,
    seed: int = 0,
) -> MixedPairs:
    """x̃ = λ x_i + (1 - λ) x_σ(i) for pairs of a split, classified by ``model`` (which is in eval mode).

    The same pairs and the same u ~ U(0, 1) serve all laws: λ = 1 (unmixed), λ = u, and λ = ω_τ(u) with the
    kernel's τ (Eqs. 2 and 4). The mean distance is that over all pairs.
    """
    first, second = draw_pairs(len(split), pairs, generator := torch.Generator().manual_seed(seed))
    u = torch.rand(pairs, generator=generator)
    used = torch.zeros(len(split), dtype=torch.bool)
    used[first] = used[second] = True
    features, predicted = _unmixed(model, split, used.nonzero()[:, 0])
    near, far = (used.cumsum(0)[index] - 1 for index in (first, second))
    points = as_rows(features).double()
    lengths = torch.cat([(points[a] - points[b]).norm(dim=1) for a, b in _chunks(near, far)])
    distance = (lengths.square() / lengths.square().mean()).float()
    label, other = (split.targets.cpu()[index] for index in (first, second))
    right = (predicted[near] == label) & (predicted[far] == other)
    kernel = warp(u, similarity_kernel(distance, tau_max, tau_std))
    guesses = (predicted[near], *(_mixed(model, split, first, second, lam) for lam in (u, kernel)))
    agreeing = {
        law: ((guess == label) | (guess == other)).numpy() for law, guess in zip(LAWS, guesses, strict=True)
    }
    return MixedPairs(distance.numpy(), (label == other).numpy(), right.numpy(), agreeing)


def draw_pairs(rows: int, pairs: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Positions (pairs,) of both partners: neighbours in shuffled orders, so that no row meets itself.

    >>> first, second = draw_pairs(3, 3, torch.Generator().manual_seed(0))
    >>> sorted(first.tolist()), sorted(second.tolist()), bool((first == second).any())
    ([0, 1, 2], [0, 1, 2], False)
    """
    checks.integer("rows of the split", rows, at_least=2)
    checks.integer("pairs", pairs, at_least=1)
    orders = [torch.randperm(rows, generator=generator) for _ in range(-(-pairs // rows))]
    first, second = torch.cat(orders), torch.cat([order.roll(1) for order in orders])
    return first[:pairs], second[:pairs]


@torch.no_grad()
def _unmixed(model: nn.Module, split: Split, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Embeddings (n, d) and predicted classes (n,) of the points themselves."""
    features, predicted = [], []
    for (chunk,) in _chunks(rows):
        x = split.batch(chunk)[0]
        with catch_input(model, None, len(x)) as caught:
            predicted.append(model(x).argmax(1).cpu())
        features.append(caught().cpu())
    return torch.cat(features), torch.cat(predicted)


@torch.no_grad()
def _mixed(model: nn.Module, split: Split, first: Tensor, second: Tensor, lam: Tensor) -> Tensor:
    """Predicted classes (n,) of the mixed points."""
    mixed = (
        Plan(b, part).blend(split.batch(a)[0], split.batch(b)[0])
        for a, b, part in _chunks(first, second, lam)
    )
    return torch.cat([model(x).argmax(1).cpu() for x in mixed])


def _chunks(*columns: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """The columns (n,) side by side, some rows at a time."""
    return zip(*(torch.split(one, ROWS) for one in columns), strict=True)


@dataclass(frozen=True, eq=False)
class AgreementCurve:
    """Per bin of distance: where it begins and ends, mean distance, pairs, share that agree, its interval."""

    left: Numbers
    right: Numbers
    distance: Numbers
    count: Numbers
    agreement: Numbers
    low: Numbers
    high: Numbers

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {name: value.tolist() for name, value in vars(self).items()}


def agreement_curve(distance: ArrayLike, agreeing: ArrayLike, *, n_bins: int = 20) -> AgreementCurve:
    """P(ŷ ∈ {y, y'} | distance) over bins that hold equally many pairs, with Wilson intervals of 95 %.

    Args:
        distance: of the pairs, (n,).
        agreeing: whether the prediction is one of the two labels, (n,).
        n_bins: bins between quantiles of the distance; where distances repeat, equal ones share a bin, and
            bins that stay empty are left out.

    >>> agreement_curve([1, 2, 3, 4], [1, 1, 0, 1], n_bins=2).agreement
    array([1. , 0.5])

    """
    far, hit = (np.asarray(one, dtype=np.float64) for one in (distance, agreeing))
    if far.ndim != 1 or far.shape != hit.shape or not len(far):
        raise ValueError(
            f"distance and agreeing must be (n,) with n >= 1, got shapes {far.shape} and {hit.shape}"
        )
    if not np.isfinite(far).all():
        raise ValueError("distance must be finite, got NaN or infinity")
    checks.integer("n_bins", n_bins, at_least=1)
    edges = np.quantile(far, np.linspace(0, 1, n_bins + 1))
    index = np.clip(np.searchsorted(edges[1:-1], far, side="left"), 0, n_bins - 1)
    count = np.bincount(index, minlength=n_bins)
    full = count > 0
    far_sums, hits = (np.bincount(index, weights=one, minlength=n_bins)[full] for one in (far, hit))
    count = count[full]
    tests = [binomtest(int(k), int(n)) for k, n in zip(hits, count, strict=True)]
    low, high = np.array([test.proportion_ci(method="wilson") for test in tests]).T
    return AgreementCurve(
        edges[:-1][full], edges[1:][full], far_sums / count, count.astype(np.float64), hits / count, low, high
    )


def _draw_panels(panels: dict[str, Curves], coefficients: str) -> Figure:
    """One panel per model, on the same axes; the law in question stands out."""
    figure = new_figure(0.9 + 4.2 * len(panels), 3.9)
    every = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, (title, curves) in zip(every, panels.items(), strict=True):
        _draw_curves(axes, curves, coefficients)
        axes.set_title(title, fontsize=11, loc="left")
    every[0].set_ylabel("predicted class is one of the two")
    handles, labels = every[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8.5, frameon=False)
    return figure


def _draw_curves(axes: Axes, curves: Curves, coefficients: str) -> None:
    styles: dict[str, tuple[str, Any]] = {
        "similarity-kernel": (ORANGE, "-"),
        "uniform": (BLUE, "-" if coefficients == "uniform" else (0, (5, 2))),
        "unmixed": (QUIET, (0, (1, 1.5))),
    }
    if coefficients == "uniform":
        del styles["similarity-kernel"]
    for law, (colour, dash) in styles.items():
        curve, main = curves[law], law == coefficients
        (line,) = axes.plot(curve.distance, curve.agreement, label=LAWS[law], zorder=4 if main else 3)
        line.set(color=colour, linestyle=dash, linewidth=1.8, marker="o" if main else "", markersize=4.5)
        line.set(markeredgecolor="white", markeredgewidth=0.6)
        if law != "unmixed":
            axes.fill_between(
                curve.distance, curve.low, curve.high, color=colour, alpha=0.18, linewidth=0, zorder=2
            )
    axes.set(xlabel="distance of the pair, d̄  (1 = average)", xlim=(0, None))
    plain_axes(axes)
    percent_axis(axes.yaxis)
