"""Your own table: a CSV file with a header and a target column."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tailormix import checks

from .access.own import OwnTask, array_splits
from .files.errors import unusable

if TYPE_CHECKING:
    from .access.record import DataSplits


def load(
    seed: int,
    *,
    path: str | Path,
    target: str | None = None,
    task: OwnTask = "auto",
    validation: float = 0.1,
    test: float = 0.2,
) -> DataSplits:
    """Read numbers below a header line; ``target`` names the column to predict (default: the last).

    A target column of words means classes, in alphabetical order, and one of whole numbers classes 0 … C - 1
    unless ``task`` says ``regression``. Features are standardised by the training rows.
    """
    path = Path(path)
    header, rows = _read(path)
    column = header.index(checks.known("target", target, header)) if target is not None else -1
    names = [row.pop(column) for row in rows]
    x = np.array([[_number(path, k, cell) for cell in row] for k, row in enumerate(rows)], dtype=np.float64)
    try:
        y = np.array([float(name) for name in names])
        words: tuple[str, ...] = ()
        if (y == np.round(y)).all():
            y = y.astype(np.int64)
    except ValueError:
        words = tuple(sorted(set(names)))
        y = np.array([words.index(name) for name in names])
    return array_splits("csv", path, x, y, task, seed, validation, test, words)


def _read(path: Path) -> tuple[list[str], list[list[str]]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as lines:
            header, *rows = [row for row in csv.reader(lines) if row] or [[]]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise unusable(path, "a CSV file", str(error)) from error
    for k, row in enumerate(rows):
        if len(row) != len(header):
            raise unusable(path, f"{len(header)} cells a row", f"{len(row)} in row {k + 1}")
    if len(header) < 2 or not rows:
        raise unusable(path, "a header, two columns or more, and rows", f"{len(rows)} rows of {len(header)}")
    return header, rows


def _number(path: Path, row: int, cell: str) -> float:
    try:
        return float(cell)
    except ValueError as error:
        raise unusable(path, "numbers in the feature columns", f"{cell!r} in row {row + 1}") from error
