"""Mismatch against distance: is the class that a model sees in a mixed image one of the two it was made of?

Serves both of the paper's figures: ``coefficients = "uniform"`` and ``coefficients = "similarity-kernel"``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailormix import checks

from .record import FigureResult, settled, write_figure

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from tailormix.metrics.mismatch import AgreementCurve

    from .mixed_pairs import MixedPairs

    Flags = NDArray[np.bool_]
    Curves = dict[str, AgreementCurve]

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
    from .mismatch_picture import draw_panels

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

    from .chosen_runs import choose_runs
    from .mixed_pairs import mixed_pairs
    from .trained import trained_model

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
    from tailormix.metrics.mismatch import agreement_curve

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
