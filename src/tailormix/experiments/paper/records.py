"""What a table is made of: columns, settings (blocks of columns) and rows. Free of torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tailormix import checks

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
