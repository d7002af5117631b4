"""Runs grouped for a report: by data and model, by experiment, and over seeds."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailormix.methods import METHODS
from tailormix.reports.runs import RUN_KEYS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tailormix.reports.runs import Run


SUBJECT = ("data", "model")


@dataclass(frozen=True)
class MeanStd:
    """Mean and sample standard deviation of n values; one value has no deviation.

    >>> MeanStd.of([1.0, 2.0, 3.0]), MeanStd.of([1.0])
    (MeanStd(mean=2.0, std=1.0, n=3), MeanStd(mean=1.0, std=None, n=1))
    """

    mean: float
    std: float | None
    n: int

    @staticmethod
    def of(values: Iterable[float]) -> MeanStd:
        """Of these values; without any, or with one that is not finite, the mean is NaN."""
        given = [float(value) for value in values]
        if not all(map(math.isfinite, given)) or not given:
            return MeanStd(math.nan, None, len(given))
        return MeanStd(
            statistics.fmean(given), statistics.stdev(given) if len(given) > 1 else None, len(given)
        )

    def as_dict(self) -> dict[str, float | int | None]:
        """For JSON, which has no NaN."""
        return {"mean": self.mean if math.isfinite(self.mean) else None, "std": self.std, "n": self.n}


@dataclass(frozen=True, eq=False)
class Group:
    """All seeds of one experiment, with a label that tells it from the others on its problem."""

    label: str
    runs: tuple[Run, ...]
    details: str = ""

    @property
    def settings(self) -> dict[str, Any]:
        """Shared by all its runs."""
        return {key: value for key, value in self.runs[0].experiment.items() if key not in RUN_KEYS}

    @property
    def method(self) -> dict[str, Any]:
        """Name and options."""
        return dict(self.settings["method"])

    @property
    def small_print(self) -> str:
        """What the label does not say: details, and the number of seeds."""
        seeds = f"{len(self.runs)} seed{'' if len(self.runs) == 1 else 's'}"
        return f"{self.details} · {seeds}" if self.details and self.details not in self.label else seeds

    @property
    def seeds(self) -> list[int]:
        """In order."""
        return sorted(run.seed for run in self.runs)

    def metric(self, stage: str, name: str) -> MeanStd:
        """A metric of the test split over the seeds; n = 0 where the stage or metric is missing."""
        stages = (run.result["test"].get(stage, {}) for run in self.runs)
        return MeanStd.of(found[name] for found in stages if name in found)

    def stages(self) -> list[str]:
        """Stages that all runs have, in their order."""
        every = [run.result["test"] for run in self.runs]
        return [stage for stage in every[0] if all(stage in test for test in every)]


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
    """Group runs by data and model, and those by all settings but the seed, in the order given."""
    subjects: dict[str, list[Run]] = {}
    for run in runs:
        subjects.setdefault(run.key(*SUBJECT), []).append(run)
    first = [found[0].experiment for found in subjects.values()]
    titles = [" · ".join(str(experiment[key]["name"]) for key in SUBJECT) for experiment in first]
    full = [" · ".join(value_text(experiment[key]) for key in SUBJECT) for experiment in first]
    return [
        Problem(title if titles.count(title) == 1 else longer, found[0].task, _groups(found))
        for title, longer, found in zip(titles, full, subjects.values(), strict=True)
    ]


def _groups(runs: Sequence[Run]) -> tuple[Group, ...]:
    """Label each experiment by its method, then by whatever else tells it from others of that method."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(run.key(), []).append(run)
    experiments = sorted(found.values(), key=_place)
    others = _differing([each[0].experiment for each in experiments])
    named = []
    for each in experiments:
        experiment = each[0].experiment
        options = {key: value for key, value in experiment["method"].items() if key != "name"}
        details = settings_text({**options, **{key: experiment.get(key) for key in others}})
        named.append((method_title(str(experiment["method"]["name"])), details))
    names = [name for name, _ in named]
    return tuple(
        Group(name if names.count(name) == 1 else f"{name} ({details or 'defaults'})", tuple(each), details)
        for (name, details), each in zip(named, experiments, strict=True)
    )


def _place(runs: Sequence[Run]) -> int:
    """The method's place in the registry, where ERM is first."""
    name, known = runs[0].experiment["method"]["name"], list(METHODS)
    return known.index(name) if name in known else len(known)


def _differing(experiments: Sequence[dict[str, Any]]) -> list[str]:
    """Keys beside the method in which the experiments are not all equal."""
    keys = dict.fromkeys(key for each in experiments for key in each if key not in (*RUN_KEYS, "method"))
    return [key for key in keys if any(each.get(key) != experiments[0].get(key) for each in experiments)]


#: parts of method names that are not merely capitalised
SPELLINGS = {
    "erm": "ERM",
    "sk": "SK",
    "io": "IO",
    "to": "TO",
    "mrl": "MRL",
    "mit": "MIT",
    "k": "k",
    "regmixup": "RegMixup",
    "rankmixup": "RankMixup",
    "cutmix": "CutMix",
}
#: names that keep their hyphen
HYPHENATED = ("mixup-io", "mixup-to", "mit-l", "mit-a", "c-mixup", "k-mixup", "two-beta")
SYMBOLS = {
    "tau_max": "τ_max",
    "tau_std": "τ_std",
    "tau_max_targets": "τ_max of targets",
    "tau_std_targets": "τ_std of targets",
    "alpha": "α",
    "tau": "τ",
    "sigma": "σ",
}


def method_title(name: str) -> str:
    """The name as the paper writes it; that of a plug-in as the user does.

    >>> [method_title(name) for name in ("erm", "sk-regmixup", "mixup-io", "mit-a", "my.py:gentle")]
    ['ERM', 'SK RegMixup', 'Mixup-IO', 'MIT-A', 'my.py:gentle']
    """
    if ":" in name:
        return name
    parts = (SPELLINGS.get(part, part.capitalize()) for part in name.split("-"))
    return ("-" if name in HYPHENATED else " ").join(parts)


def settings_text(settings: Mapping[str, Any]) -> str:
    """Settings in a line.

    >>> settings_text({"tau_std": 0.5, "space": "input", "squared": False})
    'τ_std 0.5, space input, squared false'
    """
    return ", ".join(f"{SYMBOLS.get(key, key)} {value_text(value)}" for key, value in settings.items())


def value_text(value: Any) -> str:
    """A value as an experiment file would show it, sections in one line.

    >>> value_text({"name": "sgd", "lr": 0.1}), value_text([8, 8]), value_text(True)
    ('sgd (lr 0.1)', '8, 8', 'true')
    """
    if isinstance(value, dict):
        rest = settings_text({key: one for key, one in value.items() if key != "name"})
        return f"{value.get('name', '')} ({rest})" if rest else str(value.get("name", ""))
    if isinstance(value, (list, tuple)):
        return ", ".join(map(value_text, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
