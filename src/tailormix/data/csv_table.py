"""Your own table: a CSV file with a header and a target column."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    cells = [row.pop(column) for row in rows]
    x = np.array([[_number(path, k, cell) for cell in row] for k, row in enumerate(rows)], dtype=np.float64)
    y, words = _target(cells)
    if words and task == "regression":
        raise unusable(path, "numbers in the target column", repr(words[0]))
    return array_splits("csv", path, x, y, task, seed, validation, test, words)


def _target(cells: list[str]) -> tuple[np.ndarray[tuple[int, ...], np.dtype[Any]], tuple[str, ...]]:
    """Return the numbers of the target column, or the classes of its words and these words."""
    try:
        y = np.array([float(cell) for cell in cells])
    except ValueError:
        words = tuple(sorted(set(cells)))
        numbers = {word: number for number, word in enumerate(words)}
        return np.array([numbers[cell] for cell in cells]), words
    whole = bool((np.abs(y) < 2**53).all()) and bool((y == np.round(y)).all())
    return (y.astype(np.int64) if whole else y), ()


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
