"""The targets of the user's data: classes or real values, and how that is decided."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import torch

from tailormix import checks
from tailormix.data.files.location import DataError
from tailormix.data.preprocessing.arrays import check_finite

if TYPE_CHECKING:
    from torch import Tensor

    from tailormix.data.files.columns import Column
    from tailormix.data.splits import Task

    Array = np.ndarray[tuple[int, ...], np.dtype[Any]]

TaskOption = Literal["auto", "classification", "regression"]

#: whole numbers of at most so many values are taken for classes
FEW_CLASSES = 20


@dataclass(frozen=True, eq=False)
class Targets:
    """Class indices (n,) with the names of the classes, or real values (n, outputs) in the user's units."""

    values: Tensor
    class_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def task(self) -> Task:
        """What these targets are for."""
        return "classification" if self.class_names else "regression"

    @property
    def labels(self) -> Tensor | None:
        """Classes by which rows can be stratified."""
        return self.values if self.class_names else None

    def scaled(self, rows: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor] | None]:
        """Real values standardised by these rows, with (centre, spread); classes as they are, with None."""
        if self.class_names:
            return self.values, None
        centre, spread = self.values[rows].mean(dim=0), self.values[rows].std(dim=0, correction=0)
        spread = torch.where(spread > 0, spread, 1.0)
        return ((self.values - centre) / spread).float(), (centre, spread)


def column_targets(column: Column, task: TaskOption) -> Targets:
    """The targets of a table's column: words and truth values are classes; for numbers see array_targets."""
    checks.known("task", task, get_args(TaskOption))
    gone = np.flatnonzero(column.missing)
    if len(gone):
        rows = ", ".join(str(column.rows[row]) for row in gone[:5]) + (", ..." if len(gone) > 5 else "")
        raise column.error(
            int(gone[0]), f"a target in every row ({len(gone)} without: {column.unit}s {rows})"
        )
    where = f"{column.source}, column {column.name!r}"
    if task == "classification" or (task == "auto" and column.kind != "number"):
        return _classes([str(word) for word in column.words()], where)
    return _number_targets(column.numbers(), task, where, whole=column.whole)


def array_targets(y: Array, task: TaskOption, where: str) -> Targets:
    """The targets of an array (n,) or (n, outputs).

    Truth values are classes, and numbers with fractions real values. Whole numbers stored as integers are
    taken for classes, with a note, if there are few different ones or exactly 0, 1, ..., each twice or more
    on average; all other whole numbers are an error that asks for the task.

    >>> array_targets(np.array([0, 1, 1, 0]), "auto", "y").notes
    ('y: whole numbers, taken for 2 classes: 0, 1 (task=regression to change it)',)
    >>> array_targets(np.array([0.5, 1.0]), "auto", "y").task
    'regression'
    >>> array_targets(np.array([0.0, 1.0]), "auto", "y")
    Traceback (most recent call last):
    tailormix...DataError: cannot use y: expected task=classification or task=regression, got 2 ...
    """
    checks.known("task", task, get_args(TaskOption))
    if y.dtype.kind not in "biuf":
        raise DataError(f"cannot use {where}: expected real numbers or truth values, got {y.dtype}")
    check_finite(where, y)
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    if task == "classification" or (task == "auto" and y.dtype == np.bool_):
        if y.ndim > 1 or (y != np.round(y)).any():
            got = "fractions" if y.ndim == 1 else f"shape {y.shape}"
            raise DataError(f"cannot use {where}: expected one class number per row, got {got}")
        return _classes([str(label if y.dtype == np.bool_ else int(label)) for label in y], where)
    return _number_targets(y.astype(np.float64), task, where, whole=y.dtype.kind in "iu")


def _number_targets(y: Array, task: TaskOption, where: str, *, whole: bool) -> Targets:
    """Numbers of a regression, or whole numbers that may be classes."""
    values = np.unique(y)
    if task == "regression" or (values != np.round(values)).any():
        return Targets(torch.from_numpy(y.reshape(len(y), -1)))
    few = len(values) <= FEW_CLASSES or (values[0] == 0 and values[-1] == len(values) - 1)
    if y.ndim > 1 or not whole or not few or len(y) < 2 * len(values):
        told = f"{len(values)} different whole numbers in {len(y)} rows"
        raise DataError(f"cannot use {where}: expected task=classification or task=regression, got {told}")
    found = _classes([str(int(value)) for value in y], where)
    names = ", ".join(found.class_names[:10]) + (", ..." if len(values) > 10 else "")
    note = f"{where}: whole numbers, taken for {len(values)} classes: {names} (task=regression to change it)"
    return Targets(found.values, found.class_names, (note,))


def _classes(labels: list[str], where: str) -> Targets:
    """The classes of labels, in the order of the numbers that they are, else in alphabetical order."""
    names = sorted(set(labels))
    with contextlib.suppress(ValueError):
        names.sort(key=float)
    if len(names) < 2:
        raise DataError(f"cannot use {where}: expected two classes or more, got one: {names[0]}")
    if len(names) == len(labels):
        raise DataError(f"cannot use {where}: expected classes with several rows, got another in each row")
    places = {name: place for place, name in enumerate(names)}
    return Targets(torch.tensor([places[label] for label in labels]), tuple(names))
