"""What a study found: its trials, the best one, the Pareto front, and how each key matters."""

from __future__ import annotations

import itertools
import math
import statistics
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import optuna
from optuna.trial import TrialState, create_trial

from tailormix.experiments.experiment import write_toml
from tailormix.experiments.tuning.objective import AXES, direction
from tailormix.experiments.tuning.study import has_ended
from tailormix.training.run_folder import write_json

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from optuna.trial import FrozenTrial

    from tailormix.data.splits import Task
    from tailormix.experiments.tuning.space import Dimension
    from tailormix.experiments.tuning.study import Search


BINS = 10
BEST, TRIALS = "best.toml", "trials.json"


def write_results(search: Search, study: optuna.Study, task: Task, folder: Path) -> dict[str, Any]:
    """Write ``trials.json`` and, where a trial ran on all folds, ``best.toml``; return what was found."""
    found = describe(search, study, task)
    write_json(folder / TRIALS, found)
    if best := found["best"]:
        experiment = search.experiment(best["values"])
        values = ", ".join(f"{key} = {value}" for key, value in best["values"].items())
        summary = f"{experiment.summary}; tuned on {len(search.folds)} folds by {search.objective}: {values}"
        write_toml(replace(experiment, summary=summary.removeprefix("; ")), folder / BEST)
    return found


def describe(search: Search, study: optuna.Study, task: Task) -> dict[str, Any]:
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
        "pareto": {
            "metrics": list(AXES[task]),
            "trials": [as_dict(trial) for trial in pareto_front(done, AXES[task])],
        },
        "importance": importance(study) if len(done) > 1 else {},
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


def pareto_front(trials: Sequence[FrozenTrial], metrics: Sequence[str]) -> list[FrozenTrial]:
    """The trials that no other beats on all metrics at once, by the first metric, the best first.

    The study itself has one objective, because optuna prunes no other kind.
    """
    found = {trial.number: [trial.user_attrs["metrics"].get(name) for name in metrics] for trial in trials}
    study = optuna.create_study(directions=[direction(name) for name in metrics])
    for number, values in found.items():
        if None not in values:
            study.add_trial(create_trial(values=values, user_attrs={"number": number}))
    numbers = {trial.user_attrs["number"] for trial in study.best_trials}
    front = [trial for trial in trials if trial.number in numbers]
    return sorted(
        front, key=lambda trial: found[trial.number][0], reverse=direction(metrics[0]) == "maximize"
    )


def importance(study: optuna.Study) -> dict[str, float]:
    """How much of the objective's variation each key explains, as optuna measures it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few trials
        return optuna.importance.get_param_importances(study)


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
