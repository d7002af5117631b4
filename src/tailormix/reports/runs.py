"""Finished runs, read from folders, titled and grouped."""

from __future__ import annotations

import json
import math
import os
import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailormix.calibration.predictions import load_predictions
from tailormix.methods import METHODS
from tailormix.metrics.classification import Rows, identity, read
from tailormix.metrics.inputs import Regressed, classified, regressed
from tailormix.training import run_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


#: words that are not merely capitalised
WORDS = {
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
#: beside these a hyphen stays
HYPHENED = ("mixup-io", "mixup-to", "mit-l", "mit-a", "c-mixup", "k-mixup", "two-beta")
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
    """The name as the paper writes it.

    >>> [method_title(name) for name in ("erm", "sk-regmixup", "mixup-io", "mit-a", "two-beta")]
    ['ERM', 'SK RegMixup', 'Mixup-IO', 'MIT-A', 'Two-Beta']
    """
    words = (WORDS.get(word, word.capitalize()) for word in name.split("-"))
    return ("-" if name in HYPHENED else " ").join(words)


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


PREDICTIONS = "predictions.npz"
#: what only a run has in its folder
SIGNS = (run_folder.EXPERIMENT, run_folder.RESULT, run_folder.METRICS, run_folder.CHECKPOINTS)
NEEDED = ("seed", "method", "data", "test", "batches_in_memory")
SECTIONS = ("data", "model", "method")
#: keys that do not make another experiment: which seed, and how the work was carried out
APART = ("seed", "summary", "workers", "checkpoint_every")


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run: its settings, result and epochs, and what each test point says before and after.

    Attributes:
        path: its folder.
        experiment: the settings with the keys of an experiment file.
        result: ``result.json``.
        history: one row an epoch.
        provenance: versions and commit.
        rows: statistics of each test point of a classifier, before and, if there is one, after temperature.
        spread: mean, standard deviation and target of each test point of a regression.

    """

    path: Path
    experiment: dict[str, Any]
    result: dict[str, Any]
    history: tuple[dict[str, Any], ...]
    provenance: dict[str, Any]
    rows: tuple[Rows, ...] = field(default=(), repr=False)
    spread: Regressed | None = field(default=None, repr=False)

    @property
    def task(self) -> str:
        """``"classification"`` or ``"regression"``."""
        return str(self.result["data"]["task"])

    @property
    def seed(self) -> int:
        """Of weights, order and mixing."""
        return int(self.result["seed"])

    def key(self, *names: str) -> str:
        """Text that is equal for runs with the same settings (of those named), whatever their seed."""
        chosen = {key: self.experiment.get(key) for key in names or self.experiment if key not in APART}
        return json.dumps(chosen, sort_keys=True)


@dataclass(frozen=True)
class Skipped:
    """A folder that cannot be reported, and why."""

    path: Path
    reason: str


def find_runs(places: Iterable[Path]) -> list[Path]:
    """Every run folder among and below ``places``, each once, in the order of their names."""
    found: dict[Path, Path] = {}
    for place in places:
        for path in _below(place):
            found.setdefault(path.resolve(), path)
    return list(found.values())


def _below(place: Path) -> Iterator[Path]:
    for here, folders, files in os.walk(place):
        if any(sign in files or sign in folders for sign in SIGNS):
            folders.clear()
            yield Path(here)
        folders.sort()


def read_runs(places: Iterable[Path]) -> tuple[list[Run], list[Skipped]]:
    """Read all runs; those that are unfinished or broken are named instead."""
    runs, skipped = [], []
    for place in places:
        paths = find_runs([place])
        if not paths:
            skipped.append(Skipped(place, "no run in it" if place.is_dir() else "no folder"))
        for path in paths:
            try:
                runs.append(read_run(path))
            except (ValueError, TypeError, KeyError, OSError, run_folder.RunError) as error:
                skipped.append(Skipped(path, _reason(error)))
    kept, repeated = _once(runs)
    return kept, list(dict.fromkeys(skipped)) + repeated


def _once(runs: Iterable[Run]) -> tuple[list[Run], list[Skipped]]:
    """Each experiment and seed once: a copy would count as a further seed."""
    kept: dict[tuple[str, int], Run] = {}
    repeated = []
    for run in {run.path.resolve(): run for run in runs}.values():
        first = kept.setdefault((run.key(), run.seed), run)
        if first is not run:
            repeated.append(Skipped(run.path, f"same experiment and seed as {first.path}"))
    return list(kept.values()), repeated


def _reason(error: Exception) -> str:
    return f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)


def read_run(path: Path) -> Run:
    """Read one finished run; raises with a reason if it is not one."""
    record, result = (
        run_folder.read_json(path / run_folder.EXPERIMENT),
        run_folder.read_json(path / run_folder.RESULT),
    )
    history = read_history(path / run_folder.METRICS)
    if record is None:
        raise ValueError(f"broken: there is no {run_folder.EXPERIMENT}")
    experiment = dict(record["experiment"])
    for key in SECTIONS:
        if not isinstance(experiment.get(key), dict) or "name" not in experiment[key]:
            raise ValueError(f"broken: {run_folder.EXPERIMENT} has no name of the {key}")
    if result is None:
        total = experiment.get("epochs", "?")
        raise ValueError(f"unfinished: {len(history)} of {total} epochs; the same command goes on from there")
    for key in NEEDED:
        if key not in result:
            raise ValueError(f"broken: {run_folder.RESULT} has no {key!r}")
    provenance = {key: record.get(key) for key in ("versions", "commit")}
    return Run(path, experiment, result, history, provenance, **_points(path, result))


def read_history(path: Path) -> tuple[dict[str, Any], ...]:
    """The epochs of ``metrics.jsonl``; a file that is not there has none.

    >>> read_history(Path("no such file"))
    ()
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return ()
    try:
        rows = tuple(json.loads(line) for line in lines)
    except ValueError as error:
        raise ValueError(f"broken: {path.name} is not JSON, line by line ({error})") from error
    for row in rows:
        if not isinstance(row, dict) or not {"epoch", "loss", "seconds"} <= row.keys():
            raise ValueError(f"broken: {path.name} has a line without epoch, loss or seconds")
    return rows


def _points(path: Path, result: dict[str, Any]) -> dict[str, Any]:
    """Statistics of the test points; far smaller than the logits, which are let go again."""
    test = load_predictions(path / PREDICTIONS)
    if test.task != result["data"]["task"]:
        raise ValueError(f"broken: {PREDICTIONS} holds a {test.task}, not a {result['data']['task']}")
    if test.task == "regression":
        return {"spread": regressed(test.mean, test.targets, test.std)}
    views = [identity]
    if "after temperature" in result["test"]:
        temperature = float(result["temperature"]["value"])
        views.append(lambda logits: logits / temperature)
    given = classified(test.outputs, test.targets, from_logits=test.from_logits)
    return {"rows": tuple(read(given, views))}


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
