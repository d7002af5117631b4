"""A study: data sets × rows × seeds, and for every row a search space of the same size, as a TOML file."""

from __future__ import annotations

import itertools
import json
import random
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailormix import checks
from tailormix.experiments import plugins
from tailormix.experiments.experiment import (
    DEFAULT_NAMES,
    Experiment,
    merge,
    run_name,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SHIPPED = resources.files(__package__) / "files"
#: the studies that ship with the package
STUDIES = ("text", "images", "scratch", "tuned", "tables", "uci", "finetuned", "bank")
KEYS = (
    *("title", "note", "seeds", "budget", "search_seeds", "together", "baseline"),
    *("experiment", "data", "rows"),
)
ROW_KEYS = ("title", "set", "search", "ensemble", "members", "reference", "compare")
#: classifiers of other packages: package, class and fixed options
REFERENCES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "hist-gradient-boosting": ("sklearn.ensemble", "HistGradientBoostingClassifier", {}),
    "random-forest": ("sklearn.ensemble", "RandomForestClassifier", {"n_estimators": 300}),
    "xgboost": ("xgboost", "XGBClassifier", {"n_jobs": 1, "verbosity": 0}),
    "catboost": (
        "catboost",
        "CatBoostClassifier",
        {"thread_count": 1, "verbose": False, "allow_writing_files": False},
    ),
}
MEMBER_STEP = 1000  # between the seeds of an ensemble's members: those of a study's repeats lie below it


@dataclass(frozen=True)
class Row:
    """A method of a study.

    Attributes:
        name, title: for the command line, and for people.
        settings: keys of an experiment, over those of the study and of the data set.
        search: values to choose from, by dotted key; each row is given the same number of candidates.
        ensemble: the row whose chosen model is trained ``members`` times and averaged.
        reference: a classifier of another package in place of our network (:mod:`.references`).
        compare: a row that it is compared with, beside the baseline.

    """

    name: str
    title: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    search: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    ensemble: str | None = None
    members: int = 4
    reference: str | None = None
    compare: str | None = None

    def candidates(self, budget: int) -> list[dict[str, Any]]:
        """At most ``budget`` different points of the search space, the same ones for all data sets and seeds.

        >>> Row("mixup", "Mixup", search={"method.alpha": [0.1, 1.0]}).candidates(8)
        [{'method.alpha': 0.1}, {'method.alpha': 1.0}]
        """
        points: list[dict[str, Any]] = []
        for values in itertools.product(*self.search.values()):
            point = dict(zip(self.search, values, strict=True))
            points += [point] if point not in points else []
        order = random.Random(0).sample(range(len(points)), len(points))  # a larger budget adds points
        return [points[k] for k in sorted(order[:budget])]


@dataclass(frozen=True)
class Run:
    """One training of a study: the candidate ``number`` of a row on a data set, with a seed."""

    data: str
    row: Row
    candidate: Mapping[str, Any]
    seed: int
    experiment: Experiment
    out: Path

    @cached_property
    def path(self) -> Path:
        """Its folder; studies that ask for the same experiment share it."""
        name = run_name(self.experiment)
        if self.row.reference is not None:
            options = "-".join(f"{key.split('.')[-1]}-{value}" for key, value in self.candidate.items())
            name = "-".join(filter(None, (name, self.row.reference, options)))
        return self.out / name / f"seed-{self.experiment.training.seed}"


@dataclass(frozen=True)
class Study:
    """Everything that a study trains; see ``docs/studies.md`` for the file.

    ``search_seeds``: as many seeds, from 0 on, try all candidates, and the others train what these chose;
    without it every seed searches for itself. ``earlier`` are lines of the study's CSV file: the runs in it
    count as finished, also where their folders are gone.

    >>> study = read_study("text")
    >>> study.baseline, study.seeds
    ('erm', 5)
    """

    name: str
    title: str
    experiment: Mapping[str, Any]
    data: Mapping[str, Mapping[str, Any]]
    rows: Mapping[str, Row]
    seeds: int = 5
    budget: int = 1
    search_seeds: int | None = None
    together: bool = True
    baseline: str = "erm"
    note: str = ""
    earlier: Sequence[Mapping[str, str]] = ()

    def __post_init__(self) -> None:
        checks.integer("seeds", self.seeds, at_least=1)
        checks.integer("budget", self.budget, at_least=1)
        if self.search_seeds is not None:
            checks.integer("search_seeds", self.search_seeds, at_least=1)
        if self.seeds > MEMBER_STEP:
            raise ValueError(f"seeds must be at most {MEMBER_STEP}, got {self.seeds}")
        for key in ("title", "note"):
            if not isinstance(getattr(self, key), str):
                raise TypeError(f"{key} of the study must be text, got {getattr(self, key)!r}")
        if not isinstance(self.together, bool):
            raise TypeError(f"together must be true or false, got {self.together!r}")
        checks.known("baseline", self.baseline, self.rows)
        for row in self.rows.values():
            self._check_row(row)

    def _check_row(self, row: Row) -> None:
        """Raise for whatever is wrong in a row: it is told before anything is trained."""
        if row.compare is not None:
            others = [name for name in self.rows if name != row.name]
            checks.known(f"compare of row {row.name}", row.compare, others)
        if row.reference is not None:
            checks.known(f"reference of row {row.name}", row.reference, REFERENCES)
        elif row.ensemble is not None:
            checks.known(f"ensemble of row {row.name}", row.ensemble, self.rows)
            checks.integer(f"members of row {row.name}", row.members, at_least=2)
            base = self.rows[row.ensemble]
            if base.ensemble is not None or base.reference is not None:
                raise ValueError(f"row {row.name} needs a row of single networks, got {row.ensemble!r}")
        else:
            for data in self.data:
                for candidate in row.candidates(self.budget):
                    self._experiment(data, row, candidate, 0)

    def cells(self, data: str = "*", rows: str = "*") -> list[tuple[str, Row]]:
        """Data sets and rows that match patterns, with commas; a pattern that matches nothing is an error."""
        return [
            (one, self.rows[row])
            for one in _matching("data set", data, self.data)
            for row in _matching("row", rows, self.rows)
        ]

    def runs(self, data: str, row: Row, out: Path, seeds: Sequence[int]) -> list[Run]:
        """All candidates of a row with all seeds; those of an ensemble follow from chosen ones."""
        return [
            Run(data, row, candidate, seed, self._experiment(data, row, candidate, seed), out)
            for candidate in row.candidates(self.budget)
            for seed in seeds
        ]

    def line(self, run: Run, row: Row | None = None) -> Mapping[str, str] | None:
        """What the CSV file of earlier calls says of a run, or of the ensemble ``row`` around it.

        Nothing of code of one's own, which may have changed since.
        """
        if run.experiment.plugins:
            return None
        return self._lines.get((run.data, (row or run.row).name, run.path.parent.name, str(run.seed)))

    @cached_property
    def _lines(self) -> dict[tuple[str, ...], Mapping[str, str]]:
        return {tuple(line[key] for key in ("data", "row", "run", "seed")): line for line in self.earlier}

    def is_current(self, line: Mapping[str, str]) -> bool:
        """Whether a line of the CSV file is of a run that this study would train now."""
        row = self.rows.get(line["row"])
        if row is None or line["data"] not in self.data:
            return False
        base = row if row.ensemble is None else self.rows[row.ensemble]
        candidate = json.loads(line["candidate"] or "{}")
        experiment = self._experiment(line["data"], base, candidate, int(line["seed"]))
        return (
            Run(line["data"], base, candidate, int(line["seed"]), experiment, Path()).path.parent.name
            == line["run"]
        )

    def shared_search(self, row: Row) -> Sequence[int] | None:
        """The seeds that choose a candidate for all seeds; None where each chooses for itself."""
        shared = self.search_seeds is not None and len(row.candidates(self.budget)) > 1
        return range(self.search_seeds or 0) if shared else None

    def members(self, row: Row, chosen: Run) -> list[Run]:
        """The members of an ensemble: the chosen run, and others with its split and settings."""
        others = []
        for number in range(1, row.members):
            options = {"split_seed": chosen.seed, **chosen.experiment.data.options}
            seed = chosen.seed + MEMBER_STEP * number
            experiment = replace(
                chosen.experiment,
                data=replace(chosen.experiment.data, options=options),
                training=replace(chosen.experiment.training, seed=seed),
            )
            others.append(Run(chosen.data, row, chosen.candidate, chosen.seed, experiment, chosen.out))
        return [chosen, *others]

    def with_method(self, plugin: str) -> Study:
        """The study with one more row, a method of one's own, ``file.py:name``.

        It searches what the baseline searches, but for the baseline's own method and loss.
        """
        plugins.find(plugin)
        name = plugins.short_name(plugin)
        shared = self.rows[self.baseline].search.items()
        search = {key: values for key, values in shared if key.partition(".")[0] not in ("method", "loss")}
        row = Row(name, name, {"method": plugin}, search)
        return replace(self, rows={**self.rows, name: row})

    def with_rows_of(self, lines: Sequence[Mapping[str, str]]) -> Study:
        """The study with a row for every name that only these lines of its CSV file have."""
        names = dict.fromkeys(line["row"] for line in lines if line["row"] not in self.rows)
        return replace(self, rows={**self.rows, **{name: Row(name, name) for name in names}})

    def _experiment(self, data: str, row: Row, candidate: Mapping[str, Any], seed: int) -> Experiment:
        values = merge(DEFAULT_NAMES, self.experiment)
        values = merge(merge(values, self.data[data]), row.settings)
        if row.reference is None:
            values = merge(values, _nested(candidate))
        return Experiment.from_dict({**values, "seed": seed})


def read_study(study: str | Path, changes: Mapping[str, Any] | None = None) -> Study:
    """A shipped study, or the one in a ``.toml`` file; ``changes`` replace keys such as ``budget``.

    >>> read_study("texts")
    Traceback (most recent call last):
    ValueError: unknown study 'texts'; did you mean 'text'? Known: text, ...
    """
    path = Path(study)
    if path.suffix == ".toml":
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise ValueError(f"there is no study file {path}") from error
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
            raise ValueError(f"cannot read the study file {path}: {error}") from error
    else:
        checks.known("study", str(study), STUDIES)
        values = tomllib.loads((SHIPPED / f"{study}.toml").read_text(encoding="utf-8"))
    for key in values:
        checks.known("key of the study", key, KEYS)
    for key in ("title", "experiment", "data", "rows"):
        if not values.get(key):
            raise ValueError(f"a study needs {key}, got only {', '.join(values) or 'nothing'}")
    rows = {name: _row(name, row) for name, row in _table("rows", values["rows"]).items()}
    data = _table("data", values["data"])
    return Study(path.stem, **{**values, **(changes or {}), "rows": rows, "data": data})


def _row(name: str, values: Mapping[str, Any]) -> Row:
    for key in values:
        checks.known(f"key of row {name}", key, ROW_KEYS)
    for key in ("set", "search"):
        if not isinstance(values.get(key, {}), Mapping):
            raise TypeError(f"{key} of row {name} must be a section of keys, got {values[key]!r}")
    if not isinstance(values.get("title", ""), str):
        raise TypeError(f"title of row {name} must be text, got {values['title']!r}")
    if "ensemble" in values and (more := [key for key in ("set", "search") if values.get(key)]):
        raise ValueError(
            f"row {name} is an ensemble of {values['ensemble']!r}, whose settings it has: no {more[0]}"
        )
    if "ensemble" in values and "reference" in values:
        raise ValueError(f"row {name} must have ensemble or reference, got both")
    search = values.get("search", {})
    if "seed" in search:
        raise ValueError(
            f"search of row {name} must not have seed: the study's seeds are repeats, not candidates"
        )
    for key, points in search.items():
        if not isinstance(points, list) or not points:
            raise TypeError(f"search of row {name} must give a list for {key}, got {points!r}")
    rest = {key: value for key, value in values.items() if key not in ("set", "search")}
    return Row(name, settings=values.get("set", {}), search=search, **{"title": name, **rest})


def _table(name: str, values: Any) -> Mapping[str, Any]:
    if not isinstance(values, Mapping) or not all(isinstance(one, Mapping) for one in values.values()):
        raise TypeError(f"{name} must be a table of sections, got {values!r}")
    return values


def _nested(candidate: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted keys as sections."""
    found: dict[str, Any] = {}
    for key, value in candidate.items():
        top, dot, inner = key.partition(".")
        found[top] = {**found.get(top, {}), inner: value} if dot else value
    return found


def _matching(kind: str, patterns: str, names: Mapping[str, Any]) -> Iterator[str]:
    wanted = [pattern.strip() for pattern in patterns.split(",")]
    for pattern in wanted:
        if not any(fnmatchcase(name, pattern) for name in names):
            checks.known(kind, pattern, names)
    return (name for name in names if matches(name, patterns))


def matches(name: str, patterns: str) -> bool:
    """Whether a name fits one of several patterns with commas between them.

    >>> matches("cifar10-500", "*-500, tiny*"), matches("cifar10-5000", "*-500")
    (True, False)
    """
    return any(fnmatchcase(name, pattern.strip()) for pattern in patterns.split(","))
