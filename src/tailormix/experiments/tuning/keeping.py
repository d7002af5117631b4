"""What a search leaves in its folder: the best setting as an experiment file, and all trials as JSON."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tailormix.experiments.writing import write_toml
from tailormix.training.folder import write_json

from .findings import best_of, pareto, sensitivity
from .objective import AXES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tailormix.data.access.record import Task

    from .findings import Finding
    from .search import Search

BEST, TRIALS = "best.toml", "trials.json"


def described(search: Search, found: Sequence[Finding], task: Task) -> dict[str, Any]:
    """All that was found, for JSON."""
    best = best_of(found, search.objective)
    return {
        "study": search.study,
        "experiment": search.name,
        "settings": list(search.settings),
        "objective": search.objective,
        "folds": list(search.folds),
        "seed": search.experiment({}).training.seed,
        "best": None if best is None else best.as_dict(),
        "pareto": {
            "metrics": list(AXES[task]),
            "trials": [each.as_dict() for each in pareto(found, AXES[task])],
        },
        "sensitivity": {
            each.key: [
                {"value": level.label, "mean": level.mean, "trials": len(level.scores)}
                for level in sensitivity(found, each)
            ]
            for each in search.space
        },
        "trials": [each.as_dict() for each in found],
    }


def keep(search: Search, found: Sequence[Finding], task: Task, folder: Path) -> Path | None:
    """Write ``trials.json`` and, where a trial ran on all folds, ``best.toml``; the path of the latter."""
    write_json(folder / TRIALS, described(search, found, task))
    best = best_of(found, search.objective)
    if best is None:
        return None
    words = ", ".join(f"{key} = {value}" for key, value in best.values.items())
    record = search.experiment(best.values)
    summary = f"{record.summary}; tuned on {len(search.folds)} folds by {search.objective}: {words}"
    return write_toml(replace(record, summary=summary.removeprefix("; ")), folder / BEST)
