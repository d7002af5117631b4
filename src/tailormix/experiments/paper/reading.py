"""From a data file to a table; an unknown key anywhere fails with the closest match. Free of torch."""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tailormix import checks
from tailormix.experiments.record import KEYS

from .catalogue import PAPER
from .records import Column, Row, TableSetting, Value
from .table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

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
