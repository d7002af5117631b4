"""Runs that belong together: seeds of one experiment, and experiments on one problem."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailormix.methods import METHODS
from tailormix.reports.runs import APART
from tailormix.reports.titles import method_title, settings_text, value_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tailormix.reports.runs import Run

SUBJECT = ("data", "model")


@dataclass(frozen=True)
class Spread:
    """Mean and sample standard deviation over n seeds; one seed has no deviation.

    >>> Spread.of([1.0, 2.0, 3.0])
    Spread(mean=2.0, std=1.0, n=3)
    """

    mean: float
    std: float
    n: int

    @staticmethod
    def of(values: Iterable[float]) -> Spread:
        """The spread of these values; one that is no number makes the mean none."""
        given = [float(value) for value in values]
        if not all(map(math.isfinite, given)) or not given:
            return Spread(math.nan, math.nan, len(given))
        std = statistics.stdev(given) if len(given) > 1 else math.nan
        return Spread(statistics.fmean(given), std, len(given))

    def as_dict(self) -> dict[str, float | int | None]:
        """For JSON, which has no NaN."""
        numbers = {"mean": self.mean, "std": self.std}
        return {k: v if math.isfinite(v) else None for k, v in numbers.items()} | {"n": self.n}


@dataclass(frozen=True, eq=False)
class Group:
    """All seeds of one experiment, with the name that tells it from the others on its problem."""

    label: str
    runs: tuple[Run, ...]
    details: str = ""

    @property
    def settings(self) -> dict[str, Any]:
        """Shared by all its runs."""
        return {key: value for key, value in self.runs[0].experiment.items() if key not in APART}

    @property
    def method(self) -> dict[str, Any]:
        """Name and options."""
        return dict(self.settings["method"])

    @property
    def small_print(self) -> str:
        """What the label does not say: details, and how many seeds there are."""
        seeds = f"{len(self.runs)} seed{'' if len(self.runs) == 1 else 's'}"
        return f"{self.details} · {seeds}" if self.details and self.details not in self.label else seeds

    @property
    def seeds(self) -> list[int]:
        """In order."""
        return sorted(run.seed for run in self.runs)

    def spread(self, stage: str, metric: str) -> Spread:
        """A metric of the test split over the seeds; no seeds where the stage or metric is missing."""
        stages = (run.result["test"].get(stage, {}) for run in self.runs)
        return Spread.of(found[metric] for found in stages if metric in found)

    def stages(self) -> list[str]:
        """Stages that all runs have, in their order."""
        return [
            stage
            for stage in self.runs[0].result["test"]
            if all(stage in r.result["test"] for r in self.runs)
        ]


@dataclass(frozen=True, eq=False)
class Problem:
    """Groups that learned the same data with the same model."""

    title: str
    task: str
    groups: tuple[Group, ...]

    @property
    def runs(self) -> Iterator[Run]:
        """Of all groups."""
        return (run for group in self.groups for run in group.runs)


def problems_of(runs: Sequence[Run]) -> list[Problem]:
    """Group runs by data and model, and those by all settings but the seed; in order of sight."""
    subjects: dict[str, list[Run]] = {}
    for run in runs:
        subjects.setdefault(run.key(*SUBJECT), []).append(run)
    titles = [_subject(found[0]) for found in subjects.values()]
    return [
        Problem(title if titles.count(title) == 1 else _long_subject(found[0]), found[0].task, _groups(found))
        for title, found in zip(titles, subjects.values(), strict=True)
    ]


def _subject(run: Run) -> str:
    return " · ".join(str(run.experiment[key]["name"]) for key in SUBJECT)


def _long_subject(run: Run) -> str:
    return " · ".join(value_text(run.experiment[key]) for key in SUBJECT)


def _groups(runs: Sequence[Run]) -> tuple[Group, ...]:
    """Label each experiment by its method, then by whatever else tells it from its namesakes."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(run.key(), []).append(run)
    several = sorted(found.values(), key=_rank)
    others = _differing([each[0].experiment for each in several])
    named = [_named(each[0].experiment, others) for each in several]
    names = [name for name, _ in named]
    return tuple(
        Group(name if names.count(name) == 1 else f"{name} ({details or 'defaults'})", tuple(each), details)
        for (name, details), each in zip(named, several, strict=True)
    )


def _rank(runs: Sequence[Run]) -> int:
    """Methods in the order in which they are listed everywhere: plain training first."""
    name, known = runs[0].experiment["method"]["name"], list(METHODS)
    return known.index(name) if name in known else len(known)


def _differing(experiments: Sequence[dict[str, Any]]) -> list[str]:
    """Keys beside the method in which the experiments are not all alike."""
    keys = dict.fromkeys(key for each in experiments for key in each if key not in (*APART, "method"))
    return [key for key in keys if any(each.get(key) != experiments[0].get(key) for each in experiments)]


def _named(experiment: dict[str, Any], others: Sequence[str]) -> tuple[str, str]:
    method = dict(experiment["method"])
    name = method_title(str(method.pop("name")))
    words = {**method, **{key: experiment.get(key) for key in others}}
    return name, settings_text(words)
