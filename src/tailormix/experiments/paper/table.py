"""A table of the paper: its parts by name, and the experiment behind every cell. Free of torch."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tailormix import checks
from tailormix.experiments.catalogue import EXPERIMENTS
from tailormix.experiments.layers import lay_over
from tailormix.experiments.record import DEFAULT_NAMES, from_flat

from .records import KINDS, Column, Row, TableSetting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tailormix.experiments.record import Experiment

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
        values = lay_over(DEFAULT_NAMES, block.experiment)
        if protocol == "released":
            values = lay_over(values, block.released)
        if budget == "small" and block.small:
            values = _shrunk(values, block)
        for layer in (*line.experiment_for(protocol), {"method": line.method_for(setting, protocol)}):
            values = lay_over(values, layer)
        same_data = values["data"]["name"] == lay_over({}, block.experiment)["data"]["name"]
        return from_flat({"also": block.needs if same_data else (), **values})


def _shrunk(values: Mapping[str, Any], setting: TableSetting) -> dict[str, Any]:
    """The settings of the shipped small experiment in place of these; the method is the row's."""
    shipped = EXPERIMENTS[checks.known("small", setting.small, EXPERIMENTS)].values
    small = {key: value for key, value in shipped.items() if key not in ("summary", "method")}
    return {**values, **small}
