"""Runs grouped for a report: by data and model, by experiment, and over seeds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailormix.methods import METHODS
from tailormix.reports.numbers import MeanStd
from tailormix.reports.runs.names import (
    compared,
    data_title,
    listed,
    method_title,
    model_title,
    settings_text,
)
from tailormix.reports.runs.reading import CALIBRATED, RUN_KEYS, class_names
from tailormix.training import run_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tailormix.reports.runs.reading import Run


SUBJECT = ("data", "model")


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
    def task(self) -> str:
        """``"classification"`` or ``"regression"``."""
        return self.runs[0].task

    @property
    def after(self) -> str:
        """The stage of the metrics after calibration."""
        return CALIBRATED[self.task][1]

    @property
    def small_print(self) -> str:
        """What the label does not say: details, and the number of seeds."""
        seeds = f"{len(self.runs)} seed{'' if len(self.runs) == 1 else 's'}"
        return f"{self.details} · {seeds}" if self.details and self.details not in self.label else seeds

    @property
    def seeds(self) -> list[int]:
        """In order."""
        return sorted(run.seed for run in self.runs)

    def metric(self, stage: str, name: str, part: str | None = None) -> MeanStd:
        """A metric over the seeds, of the test split or a shifted part of it.

        n = 0 where part, stage or metric is missing.
        """
        stages = (run.stages(part).get(stage, {}) for run in self.runs)
        values = [found[name] for found in stages if name in found]
        return MeanStd.of(math.nan if value is None else value for value in values)

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

    @property
    def after(self) -> str:
        """The stage of the metrics after calibration."""
        return self.groups[0].after


def problems_of(runs: Sequence[Run]) -> list[Problem]:
    """Group runs by data and model, and those by all settings but the seed, in the order given."""
    subjects: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        subjects.setdefault((run.key(*SUBJECT), run.task), []).append(run)
    first = [found[0].experiment for found in subjects.values()]
    short = [problem_title(experiment) for experiment in first]
    full = [problem_title(experiment, details=True) for experiment in first]
    return [
        Problem(title if short.count(title) == 1 else longer, found[0].task, _groups(found))
        for title, longer, found in zip(short, full, subjects.values(), strict=True)
    ]


def problem_title(experiment: dict[str, Any], *, details: bool = False) -> str:
    """Data and model, with all their settings where these are asked for.

    >>> settings = {"data": {"name": "digits", "test": 0.5}, "model": {"name": "resnet8"}}
    >>> problem_title(settings), problem_title(settings, details=True)
    ('Digits, ResNet-8', 'Digits (test 0.5), ResNet-8')
    """
    data, model = experiment["data"], experiment["model"]
    titles = data_title(data), model_title(str(model["name"]))
    hidden = ("name", "path")
    rests = (settings_text({k: v for k, v in one.items() if k not in hidden}) for one in (data, model))
    return ", ".join(
        f"{title} ({rest})" if details and rest else title for title, rest in zip(titles, rests, strict=True)
    )


def run_description(path: Path) -> tuple[str, tuple[str, ...]]:
    """The title of the run that a folder, or the folder of a file, belongs to, and the names of its classes.

    Both are empty where it belongs to none.

    >>> from pathlib import Path
    >>> run_description(Path("no such folder"))
    ('', ())
    """
    folder = path if path.is_dir() else path.parent
    try:
        experiment = (run_folder.read_json(folder / run_folder.EXPERIMENT) or {})["experiment"]
        method, seed = method_title(str(experiment["method"]["name"])), experiment.get("seed", 0)
        return f"{problem_title(experiment)}: {method}, seed {seed}", class_names(folder)
    except (ValueError, TypeError, LookupError, AttributeError, run_folder.RunError):
        return "", ()


def headline(problems: Sequence[Problem]) -> str:
    """The title of a page on these problems, such as "Digits, ResNet-8: SK Mixup against plain training"."""
    methods = [[str(group.method["name"]) for group in problem.groups] for problem in problems]
    if len(problems) > 3:
        return f"{sum(map(len, methods))} experiments on {len(problems)} problems"
    first = [next(problem.runs).experiment for problem in problems]
    data = list(dict.fromkeys(data_title(one["data"]) for one in first))
    models = list(dict.fromkeys(model_title(one["model"]["name"]) for one in first))
    subject = f"{data[0]}, {listed(models)}" if len(data) == 1 else listed(data)
    every = (
        methods[0] if len(problems) == 1 else list(dict.fromkeys(name for each in methods for name in each))
    )
    return f"{subject}: {compared(every)}"


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


def _place(runs: Sequence[Run]) -> tuple[Any, ...]:
    """The method's place in the registry, where ERM is first; then by its options, numbers by their size."""
    options, known = dict(runs[0].experiment["method"]), list(METHODS)
    name = options.pop("name")
    values = [
        (key, value if isinstance(value, (int, float)) else -math.inf, str(value))
        for key, value in sorted(options.items())
    ]
    return known.index(name) if name in known else len(known), values


def _differing(experiments: Sequence[dict[str, Any]]) -> list[str]:
    """Keys beside the method in which the experiments are not all equal."""
    keys = dict.fromkeys(key for each in experiments for key in each if key not in (*RUN_KEYS, "method"))
    return [key for key in keys if any(each.get(key) != experiments[0].get(key) for each in experiments)]
