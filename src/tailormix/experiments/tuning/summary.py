"""What a study found: its trials, the best one, and the mean score by value of each key.

All else, such as importance and pictures, optuna shows of the study's database.
"""

from __future__ import annotations

import itertools
import math
import statistics
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from optuna.trial import TrialState

from tailormix.experiments.experiment import write_toml
from tailormix.experiments.tuning.study import has_ended
from tailormix.training.run_folder import write_json

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import optuna
    from optuna.trial import FrozenTrial

    from tailormix.experiments.tuning.space import Dimension
    from tailormix.experiments.tuning.study import Search


BINS = 10
BEST, TRIALS = "best.toml", "trials.json"


def write_results(search: Search, study: optuna.Study, folder: Path) -> dict[str, Any]:
    """Write ``trials.json`` and, where a trial ran on all folds, ``best.toml``; return what was found."""
    found = describe(search, study)
    write_json(folder / TRIALS, found)
    if best := found["best"]:
        experiment = search.experiment(best["values"])
        values = ", ".join(f"{key} = {value}" for key, value in best["values"].items())
        summary = f"{experiment.summary}; tuned on {len(search.folds)} folds by {search.objective}: {values}"
        write_toml(replace(experiment, summary=summary.removeprefix("; ")), folder / BEST)
    return found


def describe(search: Search, study: optuna.Study) -> dict[str, Any]:
    """All that was found, for JSON."""
    trials = [as_dict(trial) for trial in study.get_trials(deepcopy=False) if has_ended(trial)]
    done = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    return {
        "study": search.study_name,
        "experiment": search.name,
        "settings": list(search.settings),
        "objective": search.objective,
        "folds": list(search.folds),
        "seed": search.experiment({}).training.seed,
        "best": as_dict(study.best_trial) if done else None,
        "sensitivity": {each.key: sensitivity(trials, each) for each in search.space},
        "trials": trials,
    }


def as_dict(trial: FrozenTrial) -> dict[str, Any]:
    """A trial's values, how it ended, and its scores and metrics over the folds it was run on."""
    found = {"trial": trial.number, "state": trial.state.name.lower(), "values": dict(trial.params)}
    if scores := trial.user_attrs.get("scores"):
        std = statistics.stdev(scores) if len(scores) > 1 else 0.0
        found |= {"score": statistics.fmean(scores), "std": std, "scores": scores}
        found |= {"metrics": trial.user_attrs["metrics"]}
    return found | ({"error": trial.user_attrs["error"]} if "error" in trial.user_attrs else {})


def sensitivity(trials: Sequence[dict[str, Any]], dimension: Dimension) -> list[dict[str, Any]]:
    """The mean score by value of one key, over all trials with scores; ranges are cut into ten bins."""
    rows = [(trial["values"][dimension.key], trial["score"]) for trial in trials if "score" in trial]
    if dimension.choices:
        groups = [(str(choice), [y for x, y in rows if x == choice]) for choice in dimension.choices]
    else:
        edges = _edges(dimension)
        groups = [
            (f"{low:.3g}..{high:.3g}", [y for x, y in rows if low <= x < high or x == high == edges[-1]])
            for low, high in itertools.pairwise(edges)
        ]
    return [
        {"value": label, "mean": statistics.fmean(scores), "trials": len(scores)}
        for label, scores in groups
        if scores
    ]


def _edges(dimension: Dimension) -> list[float]:
    low, high = float(dimension.low), float(dimension.high)
    if dimension.log:
        between = [low * math.exp(math.log(high / low) * k / BINS) for k in range(1, BINS)]
    else:
        between = [low + (high - low) * k / BINS for k in range(1, BINS)]
    return [low, *between, high]
