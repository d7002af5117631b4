"""One column of a table: numbers, truth values or words, some of them missing."""

from __future__ import annotations

import contextlib
import itertools
import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tailormix.data.files.location import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    Array = np.ndarray[tuple[int, ...], np.dtype[Any]]

Kind = Literal["number", "boolean", "category"]

#: words for a missing value, in small letters
MISSING = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "null", "<null>", "none", "?"})
#: words for truth values, in small letters
TRUTH = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}
#: squares of larger numbers are no numbers any more
LARGEST, BELOW = 1e150, "a number below 1e150"
#: numbers among which a word is taken for a mistake
MOSTLY = 0.9


@dataclass(frozen=True, eq=False)
class Column:
    """Cells (n,) as they were read: numbers with NaN for missing, bool, or objects: text, None for missing.

    ``rows`` (n,) numbers them for messages, as lines of a file or as rows. ``fixed`` says what they are where
    that is not to be found from the cells. ``dropped`` (n,) holds words that are read as missing, like NA.

    >>> column = Column.of("size", ["1", "2.5", "NA"], "my.csv")
    >>> column.kind, column.numbers()
    ('number', array([1. , 2.5, nan]))
    >>> Column.of("size", ["1", "large"], "my.csv", rows=[2, 3], unit="line").numbers()
    Traceback (most recent call last):
    tailormix...DataError: cannot use my.csv: line 3, column 'size': expected a number, got 'large'
    """

    name: str
    cells: Array
    source: str
    rows: Array
    unit: Literal["row", "line"] = "row"
    decimal: str = "."
    fixed: Kind | None = None
    dropped: Array | None = None

    @classmethod
    def of(
        cls,
        name: str,
        values: Any,
        source: str,
        *,
        rows: Sequence[int] | Array | None = None,
        unit: Literal["row", "line"] = "row",
        decimal: str = ".",
    ) -> Column:
        """The column of a list, an array or a data frame's series."""
        categorical = str(getattr(values, "dtype", "")).lower().startswith("categor")
        cells = _cells(name, values, source)
        numbered = np.arange(len(cells)) if rows is None else np.asarray(rows)
        fixed: Kind | None = "category" if categorical else None
        return cls(name, cells, source, numbered, unit, decimal, fixed, _dropped(values, cells))

    def __len__(self) -> int:
        return len(self.cells)

    def __getitem__(self, rows: Any) -> Column:
        """Some of the rows, of the kind that the whole column has."""
        dropped = None if self.dropped is None else self.dropped[rows]
        return replace(self, cells=self.cells[rows], rows=self.rows[rows], fixed=self.kind, dropped=dropped)

    @cached_property
    def missing(self) -> Array:
        """Mask (n,) of the cells without a value."""
        if self.cells.dtype == object:
            return np.fromiter((cell is None for cell in self.cells), dtype=bool, count=len(self))
        return np.isnan(self.cells.astype(np.float64))

    @property
    def whole(self) -> bool:
        """Whether all numbers are written as whole ones: 3, not 3.0."""
        if self.cells.dtype == object:
            return all(cell is None or re.fullmatch(r"[-+]?\d+", cell) for cell in self.cells)
        return self.cells.dtype.kind in "iu"

    @cached_property
    def kind(self) -> Kind:
        """What the cells are; a few words among numbers are likely to be mistakes: an error."""
        if self.fixed is not None:
            return self.fixed
        if self.cells.dtype != object:
            return "boolean" if self.cells.dtype == np.bool_ else "number"
        different = set(self.cells) - {None}
        if different and all(cell.lower() in TRUTH for cell in different):
            return "boolean"
        if (words := self._words_among_numbers) == 0:
            return "number"
        known = len(self) - int(self.missing.sum())
        if known - words < MOSTLY * known:
            return "category"
        numbers = f"a number as in {known - words} of {known} rows (or say that it holds categories)"
        raise self.error(self._first_word(), numbers)

    def numbers(self) -> Array:
        """Finite numbers (n,), NaN for missing."""
        values = self._parsed if self.cells.dtype == object else self.cells.astype(np.float64)
        if self.cells.dtype == object and self._words_among_numbers:
            raise self.error(self._first_word(), "a number")
        for wrong, expected in ((np.isinf(values), "a finite number"), (np.abs(values) > LARGEST, BELOW)):
            if wrong.any():
                raise self.error(int(np.flatnonzero(wrong)[0]), expected)
        return values

    def booleans(self) -> Array:
        """0 and 1 (n,), NaN for missing."""
        if self.cells.dtype == object:
            known = {**TRUTH, "0": 0.0, "1": 1.0, "0.0": 0.0, "1.0": 1.0}
            found = [np.nan if cell is None else known.get(cell.lower(), -1.0) for cell in self.cells]
            values = np.array(found, dtype=np.float64)
        else:
            values = self.cells.astype(np.float64)
        wrong = np.flatnonzero(~np.isnan(values) & (values != 0) & (values != 1))
        if len(wrong):
            raise self.error(int(wrong[0]), "true or false, yes or no, 1 or 0")
        return values

    def words(self) -> list[str | None]:
        """The cells as text, None for missing."""
        return list(self.cells) if self.cells.dtype == object else [_text(cell) for cell in self.cells]

    def texts(self) -> list[str | None]:
        """The cells as they are written, None for empty ones: a text may be NA, or None.

        >>> Column.of("label", ["yes", "none", ""], "my.csv").texts()
        ['yes', 'none', None]
        """
        if self.dropped is None:
            return self.words()
        return [lost if cell is None else cell for cell, lost in zip(self.words(), self.dropped, strict=True)]

    @cached_property
    def _parsed(self) -> Array:
        """Numbers (n,) of text; NaN for missing cells, and for words."""
        if self.decimal == ".":
            with contextlib.suppress(ValueError):  # the same for a column of numbers alone, and much faster
                found = np.array([np.nan if cell is None else float(cell) for cell in self.cells])
                if not any("_" in cell for cell in self.cells if cell is not None):
                    return found
        return np.array([np.nan if cell is None else _number(cell, self.decimal) for cell in self.cells])

    @property
    def _words_among_numbers(self) -> int:
        return int((np.isnan(self._parsed) & ~self.missing).sum())

    def _first_word(self) -> int:
        return int(np.flatnonzero(np.isnan(self._parsed) & ~self.missing)[0])

    def error(self, row: int, expected: str) -> DataError:
        """The error for one cell."""
        cell = self.cells[row]
        lost = None if self.dropped is None else self.dropped[row]
        empty = "no value" if lost is None else f"{lost!r}, which is read as missing"
        got = repr(cell) if isinstance(cell, str) else empty if cell is None else f"{cell}"
        return DataError(
            f"cannot use {self.source}: {self.unit} {self.rows[row]}, column {self.name!r}: "
            f"expected {expected}, got {got}"
        )


def _cells(name: str, values: Any, source: str) -> Array:
    """Cells of a list, an array or a series; what is missing is NaN or None."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise DataError(
            f"cannot use {source}: column {name!r}: expected one value per row, got {array.ndim} axes"
        )
    if array.dtype.kind in "biuf":
        return array
    if array.dtype.kind in "Mmc":
        what = "complex numbers" if array.dtype.kind == "c" else "dates or times"
        raise DataError(f"cannot use {source}: column {name!r}: expected numbers or words, got {what}")
    if isinstance(values, list) and all(isinstance(value, str) for value in values):  # the cells of a file
        stripped = [value.strip() for value in values]
        gone = {value for value in set(stripped) if value.lower() in MISSING}
        return _objects([None if value in gone else value for value in stripped] if gone else stripped)
    lost = values.isna() if hasattr(values, "isna") else itertools.repeat(False)
    return _objects([None if gone else _text(cell) for cell, gone in zip(array, lost, strict=False)])


def _dropped(values: Any, cells: Array) -> Array | None:
    """The words (n,) that are read as missing, where there are any; None where a cell is empty or known."""
    if cells.dtype != object or all(cell is not None for cell in cells):
        return None
    lost = [
        (value.strip() or None) if cell is None and isinstance(value, str) else None
        for value, cell in zip(np.asarray(values, dtype=object), cells, strict=True)
    ]
    return _objects(lost) if any(lost) else None


def _objects(values: list[str | None]) -> Array:
    cells = np.empty(len(values), dtype=object)
    cells[:] = values
    return cells


def _text(cell: Any) -> str | None:
    """A cell as text, whole numbers without a point; None where it is missing.

    >>> _text(3.0), _text(" red "), _text("N/A"), _text(float("nan"))
    ('3', 'red', None, None)
    """
    if isinstance(cell, (float, np.floating)) and float(cell).is_integer():
        return str(int(cell))
    text = "" if cell is None else str(cell).strip()
    return None if text.lower() in MISSING else text


def _number(cell: str, decimal: str) -> float:
    """The number of a cell, NaN where it is none.

    >>> _number("1,5", ","), _number("1.5", ","), _number("1_000", ".")
    (1.5, nan, nan)
    """
    if "_" in cell or (decimal == "," and "." in cell):
        return np.nan
    try:
        return float(cell.replace(decimal, "."))
    except ValueError:
        return np.nan
