"""The targets of the user's data: classes or real values, and how that is decided."""

from __future__ import annotations

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
        expected = f"a target in every row ({len(gone)} without: {column.unit}s {rows})"
        raise column.error(int(gone[0]), expected)
    kind = "number" if task == "regression" else column.kind()
    where = f"{column.source}, column {column.name!r}"
    if kind == "number":
        return _number_targets(column.numbers(), task, where, whole=column.whole)
    return _classes([str(word) for word in column.words()], where)


def array_targets(y: Array, task: TaskOption, where: str) -> Targets:
    """The targets of an array (n,) or (n, outputs).

    Truth values are classes, and numbers with fractions real values. Whole numbers stored as integers are
    taken for classes, with a note, if there are few different ones or exactly 0, 1, ..., each twice or more
    on average; all other whole numbers are an error that asks for the task.

    >>> array_targets(np.array([0, 1, 1, 0]), "auto", "y").notes
    ('y: whole numbers, taken for 2 classes: 0, 1 (task=regression to change it)',)
    >>> array_targets(np.array([0.5, 1.0]), "auto", "y").task
    'regression'
    """
    checks.known("task", task, get_args(TaskOption))
    if y.dtype.kind not in "biuf":
        raise DataError(f"cannot use {where}: expected real numbers or truth values, got {y.dtype}")
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    if y.dtype == np.bool_ and task != "regression":
        return _classes([str(value) for value in y.tolist()], where)
    return _number_targets(y.astype(np.float64), task, where, whole=y.dtype.kind in "iu")


def _number_targets(y: Array, task: TaskOption, where: str, *, whole: bool) -> Targets:
    check_finite(where, y)
    real = Targets(torch.from_numpy(y.reshape(len(y), -1)))
    values = np.unique(y)
    told = f"whole numbers, {len(values)} different ones in {' x '.join(map(str, y.shape))}"
    asks = DataError(f"cannot use {where}: expected task=classification or task=regression, got {told}")
    if task == "regression" or (task == "auto" and (values != np.round(values)).any()):
        return real
    if task == "auto" and (y.ndim > 1 or not whole):
        raise asks
    if (values != np.round(values)).any() or y.ndim > 1:
        raise DataError(
            f"cannot use {where}: expected one class number per row, "
            f"got {'fractions' if y.ndim == 1 else f'shape {y.shape}'}"
        )
    found = _classes(y.astype(np.int64).tolist(), where)
    if task == "classification":
        return found
    counted = len(values) <= FEW_CLASSES or (values[0] == 0 and values[-1] == len(values) - 1)
    if not counted or len(y) < 2 * len(values):
        raise asks
    names = ", ".join(found.class_names[:10]) + (", ..." if len(values) > 10 else "")
    note = f"{where}: whole numbers, taken for {len(values)} classes: {names} (task=regression to change it)"
    return Targets(found.values, found.class_names, (note,))


def _classes(labels: list[Any], where: str) -> Targets:
    """The classes of labels, in alphabetical or numerical order."""
    found, codes = np.unique(np.array(labels), return_inverse=True)
    if len(found) < 2:
        raise DataError(f"cannot use {where}: expected two classes or more, got one: {found[0]!s}")
    return Targets(torch.from_numpy(codes.astype(np.int64)), tuple(map(str, found.tolist())))
