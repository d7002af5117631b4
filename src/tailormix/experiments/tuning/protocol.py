"""How settings are compared: the paper's folds, by the kind of data. The test rows take no part."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailormix.data import DataSplits
    from tailormix.data.access.record import Task
    from tailormix.experiments.record import Experiment


@dataclass(frozen=True)
class Protocol:
    """The task, and ``splits`` of ``folds`` folds, each a run of its own.

    >>> Protocol("classification", 2, 10).names
    ('1/10', '2/10')
    """

    task: Task
    splits: int
    folds: int

    @property
    def names(self) -> tuple[str, ...]:
        """The values of ``data.fold``."""
        return tuple(f"{number}/{self.folds}" for number in range(1, self.splits + 1))


def published(data: DataSplits) -> Protocol:
    """The paper's protocol: 4 splits of 90/10 for classes, 5 folds for tables, 4 for series."""
    from tailormix.data.access.windows import WindowSplit

    if data.task == "classification":
        return Protocol("classification", 4, 10)
    return (
        Protocol("regression", 4, 4) if isinstance(data.train, WindowSplit) else Protocol("regression", 5, 5)
    )


def protocol_of(experiment: Experiment, splits: str | None = None) -> Protocol:
    """The protocol for the experiment's data; ``splits`` changes their number, as ``2`` or ``3/5``."""
    from tailormix import data

    options = {key: value for key, value in experiment.data.options.items() if key != "fold"}
    found = published(data.load(experiment.data.name, seed=experiment.training.seed, **options))
    return found if splits is None else changed(found, splits)


def changed(protocol: Protocol, splits: str) -> Protocol:
    """The same with other numbers: the first ``n`` folds, or ``n/K`` of K folds.

    >>> changed(Protocol("regression", 5, 5), "2"), changed(Protocol("classification", 4, 10), "3/3").folds
    (Protocol(task='regression', splits=2, folds=5), 3)
    """
    matched = re.fullmatch(r"([0-9]+)(?:/([0-9]+))?", splits)
    number, folds = (int(matched[1]), int(matched[2] or protocol.folds)) if matched else (0, 0)
    if not (1 <= number <= folds and folds >= 2):
        raise ValueError(
            f"splits must be a number up to {protocol.folds}, or like 4/10 for the first 4 of 10 folds, "
            f"got {splits!r}"
        )
    return Protocol(protocol.task, number, folds)
