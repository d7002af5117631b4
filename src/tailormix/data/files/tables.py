"""Read tables: CSV and TSV files, Parquet, data frames, columns by name, and rows by name."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tailormix.data.files.columns import Column
from tailormix.data.files.location import DataError, check_file, unusable

if TYPE_CHECKING:
    from collections.abc import Sequence

DELIMITERS = (",", ";", "\t", "|")
#: records from which the delimiter is found
_SAMPLE = 50
PARQUET = (".parquet", ".pq")


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of equal length by name; ``notes`` say what was decided when they were read."""

    source: str
    columns: dict[str, Column]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, rows: Any) -> Table:
        rows = np.asarray(rows)  # a tensor of one row would be taken for a number
        return replace(self, columns={name: column[rows] for name, column in self.columns.items()})


def read_table(
    source: Any, *, delimiter: str | None = None, encoding: str | None = None, decimal: str | None = None
) -> Table:
    """The table of a file (CSV, TSV, Parquet), a data frame, columns by name, or a list of rows by name.

    Of text files the ``delimiter`` is found among comma, semicolon, tab and bar; the ``encoding`` is UTF-8,
    or UTF-16 where the file says so, else cp1252. ``decimal`` is the point, or the comma where the delimiter
    is a semicolon and some numbers have commas but none a point. Lines of the file are counted from 1.

    >>> table = read_table({"size": [1, 2], "colour": ["red", None]})
    >>> len(table), {name: column.kind for name, column in table.columns.items()}
    (2, {'size': 'number', 'colour': 'category'})
    """
    if isinstance(source, Table):
        return source
    if isinstance(source, (str, Path)):
        path = Path(source)
        check_file(path, "a table")
        if path.suffix.lower() in PARQUET:
            return _read_parquet(path)
        return _read_text(path, delimiter, encoding, decimal)
    if isinstance(source, Mapping):
        return _table_of(source, "the columns")
    if hasattr(source, "columns"):
        _check_names([str(name) for name in source.columns], "the data frame")
        return _table_of({name: source[name] for name in source.columns}, "the data frame")
    if not isinstance(source, (list, tuple)) or not all(isinstance(row, Mapping) for row in source):
        kind = type(source).__name__
        raise TypeError(f"a table must be a file, a data frame, columns or rows by name, got {kind}")
    names = dict.fromkeys(name for row in source for name in row)
    return _table_of({name: [row.get(name) for row in source] for name in names}, "the rows")


def _table_of(columns: Mapping[Any, Any], source: str) -> Table:
    read = {str(name): Column.of(str(name), values, source) for name, values in columns.items()}
    lengths = {name: len(column) for name, column in read.items()}
    if len(set(lengths.values())) != 1:
        told = ", ".join(f"{name} {length}" for name, length in lengths.items()) or "no columns"
        raise DataError(f"cannot use {source}: expected columns of one length, got {told}")
    return Table(source, read)


def _check_names(names: Sequence[str], source: str) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise DataError(f"cannot use {source}: expected different names, got column {name!r} twice")


def _read_parquet(path: Path) -> Table:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise DataError(f"cannot use {path}: Parquet needs a package more: pip install pyarrow") from error
    try:
        table = parquet.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise unusable(path, "a Parquet file", str(error)) from error
    _check_names(table.column_names, str(path))
    columns = {name: table.column(name) for name in table.column_names}
    plain = {  # as arrays, dictionaries would lose what is missing
        name: column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for name, column in columns.items()
    }
    return _table_of(plain, str(path))


def _read_text(path: Path, delimiter: str | None, encoding: str | None, decimal: str | None) -> Table:
    text, notes = _decode(path, encoding)
    if delimiter is None:
        delimiter = "\t" if path.suffix.lower() in (".tsv", ".tab") else _find_delimiter(text)
    elif len(delimiter) != 1:
        raise ValueError(f"delimiter must be one character, got {delimiter!r}")
    if decimal not in (None, ".", ","):
        raise ValueError(f"decimal must be . or ,, got {decimal!r}")
    header, rows, lines = _records(path, text, delimiter)
    columns, commas = {}, []
    for name, values in zip(header, map(list, zip(*rows, strict=True)), strict=True):
        comma = decimal is None and delimiter != "," and _has_decimal_commas(values)
        commas += [name] if comma else []
        mark = "," if comma else decimal or "."
        columns[name] = Column.of(name, values, str(path), rows=lines, unit="line", decimal=mark)
    if commas:
        notes = (*notes, f"{path.name}: numbers have decimal commas (decimal=. to change it)")
    return Table(str(path), columns, notes)


def _decode(path: Path, encoding: str | None) -> tuple[str, tuple[str, ...]]:
    """The text of a file, and a note where its encoding is a guess."""
    contents = path.read_bytes().removeprefix(codecs.BOM_UTF8)
    marked = "utf-16" if contents[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8"
    for name in [encoding] if encoding else [marked, "cp1252", "latin-1"]:
        try:
            text = contents.decode(name)
        except LookupError as error:
            raise ValueError(f"unknown encoding {encoding!r}") from error
        except UnicodeError as error:
            reason = error
            continue
        if "\0" in text:
            raise unusable(path, "text", "a binary file (or text in another encoding: encoding=utf-16)")
        guessed = f"{path.name}: not UTF-8, read as {name} (encoding=... to change it)"
        return text, () if name in (encoding, marked) else (guessed,)
    raise unusable(path, f"text in {encoding}", str(reason)) from reason


def _find_delimiter(text: str) -> str:
    """The delimiter that cuts the first records into equally many cells, as many as possible."""

    def cells(delimiter: str) -> tuple[bool, int]:
        try:
            reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
            widths = list(itertools.islice((len(row) for row in reader if row), _SAMPLE)) or [0]
        except csv.Error:
            return False, 0
        return widths[0] > 1 and len(set(widths)) == 1, widths[0]

    return max(DELIMITERS, key=cells)


def _records(path: Path, text: str, delimiter: str) -> tuple[list[str], list[list[str]], list[int]]:
    """Header, rows, and the line at which each row starts; empty lines are left out.

    But for those between the rows of a single column: they are empty cells.
    """
    rows: list[list[str]] = []
    lines: list[int] = []
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True
    )
    start = 1
    try:
        for row in reader:
            if any(cell.strip() for cell in row) or len(row) > 1 or (rows and len(rows[0]) == 1):
                rows.append(row or [""])
                lines.append(start)
            start = reader.line_num + 1
    except csv.Error as error:
        raise unusable(path, "a table", f"line {start}: {error}") from error
    while rows and rows[-1] == [""]:
        del rows[-1], lines[-1]
    if not rows:
        raise unusable(path, "a table", "empty lines only")
    header = _check_header(path, [name.strip() for name in rows[0]])
    for row, line in zip(rows, lines, strict=True):
        if len(row) != len(header):
            told = f"{len(header)} cells as in the header"
            raise DataError(f"cannot use {path}: line {line}: expected {told}, got {len(row)}")
    if len(rows) == 1:
        raise unusable(path, "rows below the header", "none")
    return header, rows[1:], lines[1:]


def _check_header(path: Path, names: list[str]) -> list[str]:
    numbers = [name for name in names if re.fullmatch(r"[-+]?\d*[.,]?\d+([eE][-+]?\d+)?", name)]
    if len(numbers) == len(names) or any(re.search("[.,]", name) for name in numbers):
        raise unusable(path, "the names of the columns in line 1", f"numbers: {', '.join(numbers[:5])}")
    _check_names(names, str(path))
    for column, name in enumerate(names):
        if not name and column:  # the first may be the index that pandas writes
            raise unusable(path, "names in line 1", f"column {column + 1} without a name")
    return names


def _has_decimal_commas(cells: Sequence[str]) -> bool:
    """Whether some numbers of a column have a comma before their decimals, and none a point."""
    comma, point = re.compile(r"\s*[-+]?\d*,\d+\s*"), re.compile(r"\s*[-+]?\d*\.\d+\s*")
    return any(map(comma.fullmatch, cells)) and not any(map(point.fullmatch, cells))
