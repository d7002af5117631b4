"""What a study found, and how it is kept."""

from __future__ import annotations

import itertools
import math
import statistics
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tailormix.experiments.experiment import write_toml
from tailormix.experiments.tuning.objective import AXES, is_larger_better
from tailormix.training.run_folder import write_json

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import optuna

    from tailormix.data.splits import Task
    from tailormix.experiments.tuning.space import Dimension
    from tailormix.experiments.tuning.study import Search


BINS = 10


@dataclass(frozen=True)
class Finding:
    """One setting: its values, the objective on each fold, all metrics, and how it ended."""

    number: int
    values: dict[str, Any]
    state: str
    scores: list[float] = field(default_factory=list)
    metrics: dict[str, float] = field(default_factory=dict)
    error: str = ""

    @property
    def score(self) -> float:
        """The mean over the folds that were run."""
        return statistics.fmean(self.scores)

    @property
    def spread(self) -> float:
        """The standard deviation over them."""
        return statistics.stdev(self.scores) if len(self.scores) > 1 else 0.0

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        found = {"trial": self.number, "state": self.state, "values": self.values}
        if self.scores:
            found |= {"score": self.score, "std": self.spread, "scores": self.scores, "metrics": self.metrics}
        return found | ({"error": self.error} if self.error else {})


def finding(trial: optuna.trial.FrozenTrial) -> Finding:
    """A trial in our words."""
    attrs = trial.user_attrs
    return Finding(
        trial.number,
        dict(trial.params),
        trial.state.name.lower(),
        list(attrs.get("scores", [])),
        dict(attrs.get("metrics", {})),
        attrs.get("error", ""),
    )


def findings(study: optuna.Study) -> list[Finding]:
    """All trials that ended with something to say, in their order."""
    found = [finding(trial) for trial in study.get_trials(deepcopy=False) if trial.state.is_finished()]
    return [each for each in found if each.state != "fail" or each.error]


def under_way(study: optuna.Study) -> int:
    """Trials that a process works on, or worked on when it died."""
    return sum(trial.state.name == "RUNNING" for trial in study.get_trials(deepcopy=False))


def complete(found: Sequence[Finding]) -> list[Finding]:
    """Those that ran on all folds."""
    return [each for each in found if each.state == "complete"]


def best_of(found: Sequence[Finding], objective: str) -> Finding | None:
    """The best of those that ran on all folds; the earliest of equals."""
    done = complete(found)
    if not done:
        return None
    return (max if is_larger_better(objective) else min)(done, key=lambda each: each.score)


def pareto(found: Sequence[Finding], axes: tuple[str, str]) -> list[Finding]:
    """The settings that no other beats on both metrics at once, by the first metric."""
    done = [each for each in complete(found) if all(axis in each.metrics for axis in axes)]

    def costs(each: Finding) -> list[float]:
        return [-each.metrics[axis] if is_larger_better(axis) else each.metrics[axis] for axis in axes]

    def beaten(each: Finding) -> bool:
        mine = costs(each)
        return any(
            all(theirs <= own for theirs, own in zip(costs(other), mine, strict=True))
            and costs(other) != mine
            for other in done
        )

    return sorted((each for each in done if not beaten(each)), key=costs)


@dataclass(frozen=True)
class Level:
    """A value of one hyper-parameter, or a bin of values, with the scores of all settings that have it."""

    label: str
    scores: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Over those settings."""
        return statistics.fmean(self.scores)


def sensitivity(found: Sequence[Finding], dimension: Dimension) -> list[Level]:
    """The objective by value of one key, over all trials with scores; ranges are cut into ten bins."""
    rows = [(each.values[dimension.key], each.score) for each in found if each.scores]
    if dimension.choices:
        groups = [(f"{choice}", [y for x, y in rows if x == choice]) for choice in dimension.choices]
    else:
        edges = _edges(dimension)
        groups = [
            (f"{low:.3g}..{high:.3g}", [y for x, y in rows if low <= x < high or x == high == edges[-1]])
            for low, high in itertools.pairwise(edges)
        ]
    return [Level(label, tuple(scores)) for label, scores in groups if scores]


def _edges(dimension: Dimension) -> list[float]:
    low, high = float(dimension.low), float(dimension.high)
    if dimension.log:
        step = (math.log(high) - math.log(low)) / BINS
        return [low, *(low * math.exp(step * k) for k in range(1, BINS)), high]
    return [low, *(low + (high - low) * k / BINS for k in range(1, BINS)), high]


def dot_plot(levels: Sequence[Level], width: int = 40) -> list[str]:
    """One line a level: its label, a dot between the smallest and the largest mean, and the mean.

    >>> dot_plot([Level("0.25", (1.0,)), Level("0.5", (3.0,))], width=3)
    ['0.25 ●··  1', ' 0.5 ··●  3']
    """
    means = [level.mean for level in levels]
    low, high = min(means), max(means)
    wide = max(len(level.label) for level in levels)
    lines = []
    for level in levels:
        at = 0 if high == low else round((level.mean - low) / (high - low) * (width - 1))
        lines.append(f"{level.label:>{wide}} {'·' * at}●{'·' * (width - 1 - at)}  {level.mean:.4g}")
    return lines


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
