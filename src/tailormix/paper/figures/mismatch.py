"""Manifold mismatch: agreement of a model with mixed labels, against distance.

Serves both of the paper's figures: ``coefficients = "uniform"`` and ``coefficients = "similarity-kernel"``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailormix import checks
from tailormix.paper.drawing import FigureResult, settled, write_figure
from tailormix.reports.style import BLUE, ORANGE, QUIET, new_figure, percent_axis, plain_axes

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from tailormix.paper.figures.mixed_pairs import AgreementCurve, MixedPairs

    Curves = dict[str, AgreementCurve]
    Flags = NDArray[np.bool_]

TITLES = {
    "unmixed": "first image alone, λ = 1",
    "uniform": "λ uniform",
    "similarity-kernel": "λ of the similarity kernel",
}


def draw_panels(panels: list[tuple[str, Curves]], coefficients: str) -> Figure:
    """One panel a model, on the same axes; the law in question stands out."""
    figure = new_figure(0.9 + 4.2 * len(panels), 3.9)
    every = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, (title, curves) in zip(every, panels, strict=True):
        _draw(axes, curves, coefficients)
        axes.set_title(title, fontsize=11, loc="left")
    every[0].set_ylabel("predicted class is one of the two")
    handles, labels = every[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8.5, frameon=False)
    return figure


def _draw(axes: Axes, curves: Curves, coefficients: str) -> None:
    looks: dict[str, tuple[str, Any]] = {
        "similarity-kernel": (ORANGE, "-"),
        "uniform": (BLUE, "-" if coefficients == "uniform" else (0, (5, 2))),
        "unmixed": (QUIET, (0, (1, 1.5))),
    }
    for law in (law for law in looks if law != "similarity-kernel" or coefficients == law):
        curve, (colour, dash) = curves[law], looks[law]
        marker = "o" if law == coefficients else None
        axes.plot(
            curve.distance,
            curve.agreement,
            color=colour,
            linestyle=dash,
            marker=marker,
            markersize=4.5,
            markeredgecolor="white",
            markeredgewidth=0.6,
            linewidth=1.8,
            label=TITLES[law],
            zorder=4 if marker else 3,
        )
        if law != "unmixed":
            axes.fill_between(
                curve.distance, curve.low, curve.high, color=colour, alpha=0.18, linewidth=0, zorder=2
            )
    axes.set(xlabel="distance of the pair, d̄  (1 = average)", xlim=(0, None))
    plain_axes(axes)
    percent_axis(axes.yaxis)


COEFFICIENTS = {"uniform": "mismatch", "similarity-kernel": "mismatch-sk"}
DEFAULTS: dict[str, Any] = {
    "coefficients": "uniform",
    "models": [
        {
            "title": "CIFAR-10, ResNet-8",
            "where": {"data": {"name": "cifar10"}, "model": {"name": "resnet8"}, "method": {"name": "erm"}},
        }
    ],
    "pairs": 10_000,
    "space": "embedding",
    "tau_max": 1.0,
    "tau_std": 0.25,
    "ends": "all",
    "bins": 12,
    "confidence": 0.95,
    "seed": 0,
}
ENDS = ("all", "right")


def make(settings: dict[str, Any], runs: Path, out: Path) -> FigureResult:
    """Draw P(ŷ ∈ {y, y'}) against d̄ for one finished run of each entry of ``models``.

    Settings: ``coefficients``; ``models``, each with a ``title`` and the ``where`` that finds its runs (the
    first seed is used); ``pairs``, ``space`` (``"embedding"`` or ``"input"``), ``tau_max``, ``tau_std``;
    ``ends``: draw ``"all"`` pairs, or those whose two images the model gets ``"right"``, where a mismatch is
    due to mixing alone; ``bins``, ``confidence`` of the intervals, ``seed``.
    """
    chosen = settled(settings, DEFAULTS)
    checks.known("ends", chosen["ends"], ENDS)
    name = COEFFICIENTS[checks.known("coefficients", chosen["coefficients"], COEFFICIENTS)]
    facts: dict[str, Any] = {"caption": _caption(chosen), "settings": chosen, "models": {}}
    panels: list[tuple[str, Curves]] = []
    for model in chosen["models"]:
        curves, facts["models"][model["title"]] = _measured(model["where"], runs, chosen)
        panels.append((model["title"], curves))
    return write_figure(draw_panels(panels, chosen["coefficients"]), name, out, facts)


def _measured(where: dict[str, Any], runs: Path, chosen: dict[str, Any]) -> tuple[Curves, dict[str, Any]]:
    import numpy as np

    from tailormix.paper.drawing import choose_runs, trained_model
    from tailormix.paper.figures.mixed_pairs import mixed_pairs

    run = choose_runs(runs, where)[0]
    model, splits = trained_model(run)
    options = {key: chosen[key] for key in ("pairs", "space", "tau_max", "tau_std", "seed")}
    found = mixed_pairs(model, splits.test, **options)
    rows = {"all": np.ones_like(found.both_right), "right": found.both_right}
    curves = {
        ends: curves_of(found, kept, chosen["bins"], chosen["confidence"]) for ends, kept in rows.items()
    }
    facts = {
        "run": run.path.relative_to(runs).as_posix(),
        "split": "test",
        "test accuracy": run.result["test"]["before"]["accuracy"],
        **{ends: summarised(found, kept, curves[ends]) for ends, kept in rows.items()},
    }
    return curves[chosen["ends"]], facts


def curves_of(found: MixedPairs, kept: Flags, bins: int, confidence: float) -> Curves:
    """The curve of the pairs in ``kept`` (n,) under each law, over the same bins."""
    from tailormix.paper.figures.mixed_pairs import agreement_curve

    return {
        law: agreement_curve(found.distance[kept], hit[kept], n_bins=bins, confidence=confidence)
        for law, hit in found.agreeing.items()
    }


def summarised(found: MixedPairs, kept: Flags, curves: Curves) -> dict[str, Any]:
    """Shares over the pairs in ``kept`` and over those of two classes; the curve and its ends."""
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
    return {
        "pairs": int(kept.sum()),
        "pairs of one class": int((kept & found.same_class).sum()),
        "laws": laws,
    }


def _caption(chosen: dict[str, Any]) -> str:
    law = "uniform coefficients"
    if chosen["coefficients"] != "uniform":
        law = f"coefficients of the similarity kernel (τ_max {chosen['tau_max']}, τ_std {chosen['tau_std']})"
    whose = ", of which those with both images recognised" if chosen["ends"] == "right" else ""
    return (
        f"How often the class predicted for a mixed image is one of its two labels, against the squared "
        f"{chosen['space']} distance of the pair relative to the average; {chosen['pairs']} pairs of test "
        f"images{whose}, {law}; Wilson intervals of {100 * chosen['confidence']:g} %."
    )
