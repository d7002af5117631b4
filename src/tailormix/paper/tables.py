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


KINDS = ("table", "figure", "illustration", "study")
BETTER = ("lower", "higher", "none")
DEVICES = ("cpu", "a100")


@dataclass(frozen=True)
class Value:
    """A published cell: mean, and the standard deviation where the paper gives one."""

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
    """A block of columns: a data set and a model, and how they are trained but for the method.

    Attributes:
        experiment: keys of an experiment file, without the method.
        released: laid over them under ``--protocol released``.
        small: a shipped experiment that takes their place under ``--budget small``.
        hours: of one plain training on ``device``, roughly.
        needs: data sets that the trained model is judged on besides its own.
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

    def titled(self, budget: str) -> str:
        """The title in tables and pictures: a small budget names the experiment in the paper's place."""
        return f"{self.small} (small budget)" if budget == "small" and self.small else self.title


@dataclass(frozen=True)
class Row:
    """A method with its settings, and the paper's values by setting and column.

    A ``reported`` row was copied by the paper from others: it has values, and no method to run.
    ``methods`` and ``released_methods`` are laid over ``method`` and ``released`` in single settings.
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

    def experiment_for(self, protocol: str) -> list[Mapping[str, Any]]:
        """What it lays over the setting's experiment."""
        return [self.experiment, *([self.released_experiment] if protocol == "released" else [])]

    def runs_in(self, setting: str) -> bool:
        """Whether there is something to run: a row with values runs where it has some."""
        return "name" in self.method_for(setting, "paper") and self.stands_in(setting)

    def stands_in(self, setting: str) -> bool:
        """Whether the row is part of a setting's block."""
        return setting in self.values if self.values else not self.reported


BUDGETS = ("paper", "small")
PROTOCOLS = ("paper", "released")


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
        checks.known("kind", self.kind, KINDS)
        checks.integer("repeats", self.repeats, at_least=1)

    def row(self, name: str) -> Row:
        """The row of that name."""
        return {row.name: row for row in self.rows}[checks.known("row", name, [r.name for r in self.rows])]

    def setting(self, name: str) -> TableSetting:
        """The setting of that name."""
        known = {setting.name: setting for setting in self.settings}
        return known[checks.known("setting", name, known)]

    def columns_of(self, setting: str) -> tuple[Column, ...]:
        """The columns as this setting has them."""
        own = self.setting(setting).columns
        return tuple(replace(column, **own.get(column.name, {})) for column in self.columns)

    def experiment(
        self, setting: str, row: str, budget: str = "paper", protocol: str = "paper"
    ) -> Experiment:
        """What is trained for a cell: setting < released setting < small < row < the row's method."""
        checks.known("budget", budget, BUDGETS)
        checks.known("protocol", protocol, PROTOCOLS)
        block, line = self.setting(setting), self.row(row)
        if not line.runs_in(setting):
            raise ValueError(f"row {row} of {self.name} has nothing to run in {setting}")
        if budget == "small" and not block.small and block.device != "cpu":
            raise ValueError(f"setting {setting} of {self.name} has no small version")
        values = merge(DEFAULT_NAMES, block.experiment)
        if protocol == "released":
            values = merge(values, block.released)
        if budget == "small" and block.small:
            values = _shrunk(values, block)
        for layer in (*line.experiment_for(protocol), {"method": line.method_for(setting, protocol)}):
            values = merge(values, layer)
        same_data = values["data"]["name"] == merge({}, block.experiment)["data"]["name"]
        return Experiment.from_dict({"also": block.needs if same_data else (), **values})


def _shrunk(values: Mapping[str, Any], setting: TableSetting) -> dict[str, Any]:
    """The settings of the shipped small experiment in place of these; the method is the row's."""
    shipped = EXPERIMENTS[checks.known("small", setting.small, EXPERIMENTS)]
    small = {key: value for key, value in shipped.items() if key not in ("summary", "method")}
    return {**values, **small}


Part = TypeVar("Part", Column, TableSetting, Row, Table)
#: keys of a table that hold its parts, and of a file that are the file's own
PARTS = ("columns", "settings", "rows")


def read_table(name: str | Path) -> Table:
    """A table of the paper by its name, or one of your own from a ``.toml`` file.

    >>> read_table("regresion")
    Traceback (most recent call last):
    ValueError: unknown table 'regresion'; did you mean 'regression'? Known: ...
    """
    path = Path(name)
    if path.suffix != ".toml":
        return table_of(str(name), PAPER[checks.known("table", str(name), PAPER)].values)
    try:
        return table_of(path.stem, tomllib.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError as error:
        raise ValueError(f"there is no table file {path}") from error
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"cannot read the table file {path}: {error}") from error


def table_of(name: str, values: Mapping[str, Any]) -> Table:
    """The table of a file's keys."""
    columns = [_part(Column, "column", key, part) for key, part in values.get("columns", {}).items()]
    settings = [_setting(key, part) for key, part in values.get("settings", {}).items()]
    rows = [_row(part) for part in values.get("rows", [])]
    plain = {key: value for key, value in values.items() if key not in PARTS}
    parts = {"columns": tuple(columns), "settings": tuple(settings), "rows": tuple(rows)}
    table = _part(Table, "table", name, {**plain, **parts})
    _check_names(table)
    return table


def _part(kind: type[Part], what: str, name: str, values: Mapping[str, Any]) -> Part:
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
    for layer in ("experiment", "released"):
        _known_keys(f"setting {name}", values.get(layer, {}))
    needs = {"needs": tuple(values.get("needs", ()))}
    return _part(TableSetting, "setting", name, {**values, **needs})


def _row(values: Mapping[str, Any]) -> Row:
    name = values.get("name", "")
    if not name:
        raise ValueError(f"a row needs a name, got only {', '.join(values) or 'nothing'}")
    for layer in ("experiment", "released_experiment"):
        _known_keys(f"row {name}", values.get(layer, {}))
    cells = {
        setting: {column: _value(cell) for column, cell in block.items()}
        for setting, block in values.get("values", {}).items()
    }
    return _part(Row, "row", name, {**values, "values": cells})


def _known_keys(where: str, layer: Mapping[str, Any]) -> None:
    for key in layer:
        checks.known(f"key of the experiment of {where}", key, KEYS)


def _value(cell: Any) -> Value:
    """A cell of the paper: a number, or mean and standard deviation.

    >>> _value(5), _value([1.5, 0.25])
    (Value(mean=5.0, std=None), Value(mean=1.5, std=0.25))
    """
    if isinstance(cell, list):
        if len(cell) != 2:
            raise ValueError(f"a cell must be a number or [mean, std], got {cell!r}")
        return Value(float(cell[0]), float(cell[1]))
    return Value(float(checks.number("a cell", cell)))


def _check_names(table: Table) -> None:
    """Settings and columns that rows speak of must exist, and no row comes twice."""
    settings, columns = [s.name for s in table.settings], [c.name for c in table.columns]
    names = [row.name for row in table.rows]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"rows of {table.name} must differ in name, got {', '.join(sorted(twice))} twice")
    for row in table.rows:
        for setting in (*row.methods, *row.released_methods, *row.values):
            checks.known(f"setting of row {row.name}", setting, settings)
        for column in (column for block in row.values.values() for column in block):
            checks.known(f"column of row {row.name}", column, columns)
    for one in table.settings:
        for column in one.columns:
            checks.known(f"column of setting {one.name}", column, columns)


@dataclass(frozen=True)
class Paper:
    """A data file of this package."""

    file: str

    @property
    def values(self) -> dict[str, Any]:
        """Its keys."""
        text = resources.files(__package__).joinpath("data", self.file).read_text(encoding="utf-8")
        return tomllib.loads(text)


PAPER: dict[str, Paper] = {
    "resnet34": Paper("resnet34.toml"),
    "resnet34-ts": Paper("resnet34-ts.toml"),
    "resnet101-ece": Paper("resnet101-ece.toml"),
    "resnet101-aece": Paper("resnet101-aece.toml"),
    "covariate-shift": Paper("covariate-shift.toml"),
    "imagenet": Paper("imagenet.toml"),
    "regression": Paper("regression.toml"),
    "quantiles": Paper("quantiles.toml"),
    "lookup": Paper("lookup.toml"),
    "cross-validation": Paper("cross-validation.toml"),
    "airfoil-warping": Paper("airfoil-warping.toml"),
    "airfoil-distance": Paper("airfoil-distance.toml"),
    "resnet34-distance": Paper("resnet34-distance.toml"),
    "two-beta": Paper("two-beta.toml"),
    "cutmix": Paper("cutmix.toml"),
    "efficiency": Paper("efficiency.toml"),
    "efficiency-classification": Paper("efficiency-classification.toml"),
    "efficiency-regression": Paper("efficiency-regression.toml"),
    "mismatch": Paper("mismatch.toml"),
    "mismatch-sk": Paper("mismatch-sk.toml"),
    "median-bars": Paper("median-bars.toml"),
    "density": Paper("density.toml"),
    "moons": Paper("moons.toml"),
    "circles": Paper("circles.toml"),
    "theorems": Paper("theorems.toml"),
    "airfoil-tuned": Paper("airfoil-tuned.toml"),
    "digits": Paper("digits.toml"),
    "cifar10": Paper("cifar10.toml"),
}
