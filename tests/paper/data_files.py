"""The data files as they are, and the experiments behind their rows."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

from paper.latex import Key, Value
from tailormix.experiments.experiment import DEFAULT_NAMES, Experiment, merge
from tailormix.paper.tables import DATA

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

#: data files of the folder that are no table, figure or study
OTHERS = ("claims.toml",)
FILES: dict[str, dict[str, Any]] = {
    path.name.removesuffix(".toml"): tomllib.loads(path.read_text(encoding="utf-8"))
    for path in sorted(DATA.iterdir(), key=lambda path: path.name)
    if path.name.endswith(".toml") and path.name not in OTHERS
}
TABLES = {name: file for name, file in FILES.items() if file["kind"] == "table"}
#: the key that lets an experiment imitate the released protocol, and its one value
IMITATE = ("imitate", "released-protocol")


def cells_of(file: Mapping[str, Any]) -> dict[Key, Value]:
    """The paper's numbers of a file, by the titles that the paper prints."""
    cells = {}
    for row in file["rows"]:
        for setting, block in row.get("values", {}).items():
            for column, cell in block.items():
                title = printed_title(file["columns"][column]["title"])
                key = Key(row["title"], file["settings"][setting]["title"], title)
                cells[key] = (cell[0], cell[1]) if isinstance(cell, list) else (cell, None)
    return cells


def printed_title(title: str) -> str:
    """A column's title without what only the data files say."""
    return title.removesuffix(" (as published)").removesuffix(" (after TS)")


def settings_of(row: Mapping[str, Any], file: Mapping[str, Any]) -> list[str]:
    """Where a row is run: in the settings of its values, or in all if it has none."""
    return list(row.get("values", file["settings"]))


def runs_of(file: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(setting, row) of everything that is run."""
    for row in file.get("rows", []):
        if not row.get("reported", False):
            yield from ((setting, row) for setting in settings_of(row, file))


def resolved(file: Mapping[str, Any], setting: str, row: Mapping[str, Any], protocol: str) -> Experiment:
    """The experiment of a row in a setting, without the key that imitates the released protocol."""
    block, released = file["settings"][setting], protocol == "released"
    layers = [block["experiment"], row.get("experiment", {})]
    method = {**row["method"], **row.get("methods", {}).get(setting, {})}
    if released:
        layers = [layers[0], block.get("released", {}), layers[1], row.get("released_experiment", {})]
        method |= {**row.get("released", {}), **row.get("released_methods", {}).get(setting, {})}
    values: dict[str, Any] = dict(DEFAULT_NAMES)
    for layer in (*layers, {"method": method}):
        values = merge(values, layer)
    values.pop(IMITATE[0], None)
    return Experiment.from_dict(values)
