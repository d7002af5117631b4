"""The paper's tables and figures, one data file each: settings, rows, and the published numbers."""

from __future__ import annotations

import dataclasses
import tomllib
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tailormix import checks
from tailormix.experiments.experiment import DEFAULT_NAMES, EXPERIMENTS, KEYS, Experiment, merge

if TYPE_CHECKING:
    from collections.abc import Mapping

#: every table and figure, as ``data/NAME.toml``, in the paper's order
NAMES = (
    "resnet34",
    "resnet34-ts",
    "resnet101-ece",
    "resnet101-aece",
    "covariate-shift",
    "imagenet",
    "regression",
    "quantiles",
    "lookup",
    "cross-validation",
    "airfoil-warping",
    "airfoil-distance",
    "resnet34-distance",
    "two-beta",
    "cutmix",
    "efficiency",
    "efficiency-classification",
    "efficiency-regression",
    "mismatch",
    "mismatch-sk",
    "median-bars",
    "density",
    "moons",
    "circles",
    "theorems",
)
DATA = resources.files(__package__) / "data"
KINDS = ("table", "figure", "illustration")
BETTER = ("lower", "higher", "none")
DEVICES = ("cpu", "a100")
BUDGETS = ("paper", "small")
PROTOCOLS = ("paper", "released")


@dataclass(frozen=True)
class Value:
    """A published number: mean, and the standard deviation where the paper gives one."""

    mean: float
    std: float | None = None


@dataclass(frozen=True)
class Column:
    """A number of ``result.json``, by its dotted ``path``, times ``scale``."""

    name: str
    title: str
    path: str
    scale: float = 1.0
    better: str = "lower"
    digits: int = 2

    def __post_init__(self) -> None:
        checks.known(f"better of column {self.name}", self.better, BETTER)


@dataclass(frozen=True)
class TableSetting:
    """A group of columns: a data set and a model, and how they are trained but for the method.

    Attributes:
        experiment: keys of an experiment file, without the method.
        released: laid over them under ``--protocol released``.
        small: a shipped experiment that takes their place under ``--budget small``.
        hours: of one plain training on ``device``, roughly.
        needs: data sets that the trained model is evaluated on besides its own.
        columns: what differs in this setting's columns, by name: ``scale``, ``digits``, ``path``.

    """

    name: str
    title: str
    experiment: Mapping[str, Any]
    released: Mapping[str, Any] = field(default_factory=dict)
    small: str = ""
    hours: float = 0.0
    device: str = "cpu"
    needs: tuple[str, ...] = ()
    columns: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        checks.known(f"device of setting {self.name}", self.device, DEVICES)
        checks.non_negative(f"hours of setting {self.name}", self.hours)

    @property
    def has_small(self) -> bool:
        """Whether ``--budget small`` can run it: by a small version, or because a CPU is enough."""
        return bool(self.small) or self.device == "cpu"

    def title_for(self, budget: str) -> str:
        """The title in tables and figures: a small budget names its experiment instead."""
        return f"{self.small} (small budget)" if budget == "small" and self.small else self.title


@dataclass(frozen=True)
class Row:
    """A method with its settings, and the paper's values by setting and column.

    The values of a ``reported`` row were copied by the paper from others; it may have no method to run.
    ``methods``, ``released_methods`` and ``experiments`` are laid over ``method``, ``released`` and
    ``experiment`` in single settings.
    """

    name: str
    title: str
    group: str = ""
    reported: bool = False
    method: Mapping[str, Any] = field(default_factory=dict)
    methods: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    released: Mapping[str, Any] = field(default_factory=dict)
    released_methods: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    experiment: Mapping[str, Any] = field(default_factory=dict)
    experiments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    released_experiment: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)

    def method_for(self, setting: str, protocol: str) -> dict[str, Any]:
        """Its method in a setting: the common one, the setting's own over it, the released one on top.

        >>> row = Row("a", "A", method={"name": "mixup", "alpha": 1.0}, methods={"x": {"alpha": 2.0}})
        >>> row.method_for("x", "paper"), row.method_for("y", "paper")
        ({'name': 'mixup', 'alpha': 2.0}, {'name': 'mixup', 'alpha': 1.0})
        """
        method = {**self.method, **self.methods.get(setting, {})}
        if protocol == "released":
            method |= {**self.released, **self.released_methods.get(setting, {})}
        return method

    def runs_in(self, setting: str) -> bool:
        """Whether there is something to run: a row with values runs where it has some."""
        return "name" in self.method_for(setting, "paper") and self.appears_in(setting)

    def appears_in(self, setting: str) -> bool:
        """Whether the table shows the row in this setting."""
        return setting in self.values if self.values else not self.reported


@dataclass(frozen=True)
class Table:
    """A table or figure: what is run, what is read from the runs, and what the paper found.

    ``figure`` names the code of a figure as ``module:function``, ``options`` are its settings.
    """

    name: str
    title: str
    kind: str
    repeats: int = 1
    label: str = ""
    section: str = ""
    note: str = ""
    figure: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[Column, ...] = ()
    settings: tuple[TableSetting, ...] = ()
    rows: tuple[Row, ...] = ()

    def __post_init__(self) -> None:
        """Check that settings and columns that rows name exist, and that no row comes twice."""
        checks.known("kind", self.kind, KINDS)
        checks.integer("repeats", self.repeats, at_least=1)
        settings, columns = [s.name for s in self.settings], [c.name for c in self.columns]
        names = [row.name for row in self.rows]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"rows of {self.name} must differ in name, got {', '.join(sorted(twice))} twice")
        for row in self.rows:
            for setting in (*row.methods, *row.released_methods, *row.experiments, *row.values):
                checks.known(f"setting of row {row.name}", setting, settings)
            for column in (column for values in row.values.values() for column in values):
                checks.known(f"column of row {row.name}", column, columns)
        for one in self.settings:
            for column in one.columns:
                checks.known(f"column of setting {one.name}", column, columns)

    def row(self, name: str) -> Row:
        """The row of that name."""
        known = {row.name: row for row in self.rows}
        return known[checks.known("row", name, known)]

    def setting(self, name: str) -> TableSetting:
        """The setting of that name."""
        known = {setting.name: setting for setting in self.settings}
        return known[checks.known("setting", name, known)]

    def columns_of(self, setting: str) -> tuple[Column, ...]:
        """The columns as this setting has them."""
        changes = self.setting(setting).columns
        return tuple(replace(column, **changes.get(column.name, {})) for column in self.columns)

    def cells(self) -> list[tuple[str, str]]:
        """Setting and row of everything that can be run."""
        return [(s.name, row.name) for s in self.settings for row in self.rows if row.runs_in(s.name)]

    def experiment(
        self, setting: str, row: str, budget: str = "paper", protocol: str = "paper"
    ) -> Experiment:
        """What is trained for a row in a setting.

        Later layers win: setting, released setting, small experiment, row, the row's method.
        """
        checks.known("budget", budget, BUDGETS)
        checks.known("protocol", protocol, PROTOCOLS)
        where, what, released = self.setting(setting), self.row(row), protocol == "released"
        if not what.runs_in(setting):
            raise ValueError(f"row {row} of {self.name} has nothing to run in {setting}")
        if budget == "small" and not where.has_small:
            raise ValueError(f"setting {setting} of {self.name} has no small version")
        values = merge(DEFAULT_NAMES, where.experiment)
        if released:
            values = merge(values, where.released)
        if budget == "small" and where.small:
            shipped = EXPERIMENTS[checks.known("small", where.small, EXPERIMENTS)]
            values |= {key: value for key, value in shipped.items() if key not in ("summary", "method")}
        values = merge(merge(values, what.experiment), what.experiments.get(setting, {}))
        if released:
            values = merge(values, what.released_experiment)
        values = merge(values, {"method": what.method_for(setting, protocol)})
        same_data = values["data"]["name"] == merge({}, where.experiment)["data"]["name"]
        return Experiment.from_dict({"also": where.needs if same_data else (), **values})


def read_table(name: str | Path) -> Table:
    """A table of the paper by its name, or one of your own from a ``.toml`` file.

    >>> read_table("regresion")
    Traceback (most recent call last):
    ValueError: unknown table 'regresion'; did you mean 'regression'? Known: ...
    """
    path = Path(name)
    if path.suffix != ".toml":
        return _table(str(name), read_data(checks.known("table", str(name), NAMES)))
    try:
        return _table(path.stem, tomllib.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError as error:
        raise ValueError(f"there is no table file {path}") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise ValueError(f"cannot read the table file {path}: {error}") from error


def read_data(name: str) -> dict[str, Any]:
    """The contents of a data file of this package."""
    return tomllib.loads(DATA.joinpath(f"{name}.toml").read_text(encoding="utf-8"))


def _table(name: str, values: Mapping[str, Any]) -> Table:
    columns = [_build(Column, "column", key, one) for key, one in values.get("columns", {}).items()]
    settings = [_setting(key, one) for key, one in values.get("settings", {}).items()]
    rows = [_row(one) for one in values.get("rows", [])]
    built = {"columns": tuple(columns), "settings": tuple(settings), "rows": tuple(rows)}
    return _build(Table, "table", name, {**values, **built})


Part = TypeVar("Part", Column, TableSetting, Row, Table)


def _build(kind: type[Part], what: str, name: str, values: Mapping[str, Any]) -> Part:
    """Call a dataclass with the keys of a file; unknown and missing keys are errors."""
    fields = dataclasses.fields(kind)
    for key in values:
        checks.known(f"key of {what} {name}", key, [f.name for f in fields])
    given = {"name": name, **values}
    for one in fields:
        required = one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING
        if required and one.name not in given:
            raise ValueError(f"{what} {name} needs the key {one.name}")
    return kind(**given)


def _setting(name: str, values: Mapping[str, Any]) -> TableSetting:
    _check_keys(f"setting {name}", values, "experiment", "released")
    return _build(TableSetting, "setting", name, {**values, "needs": tuple(values.get("needs", ()))})


def _row(values: Mapping[str, Any]) -> Row:
    name = values.get("name", "")
    if not name:
        raise ValueError(f"a row needs a name, got only {', '.join(values) or 'nothing'}")
    _check_keys(f"row {name}", values, "experiment", "released_experiment")
    for one in values.get("experiments", {}).values():
        _check_keys(f"row {name}", {"experiment": one}, "experiment")
    published = {
        setting: {column: _value(number) for column, number in numbers.items()}
        for setting, numbers in values.get("values", {}).items()
    }
    return _build(Row, "row", name, {**values, "values": published})


def _check_keys(where: str, values: Mapping[str, Any], *layers: str) -> None:
    for key in (key for layer in layers for key in values.get(layer, {})):
        checks.known(f"key of the experiment of {where}", key, KEYS)


def _value(given: Any) -> Value:
    """A number of the paper, or mean and standard deviation.

    >>> _value(5), _value([1.5, 0.25])
    (Value(mean=5.0, std=None), Value(mean=1.5, std=0.25))
    """
    if isinstance(given, list):
        if len(given) != 2:
            raise ValueError(f"a cell must be a number or [mean, std], got {given!r}")
        return Value(float(given[0]), float(given[1]))
    return Value(float(checks.number("a cell", given)))
