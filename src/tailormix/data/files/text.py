"""Tables of numbers in text files, plain or compressed."""

from __future__ import annotations

import gzip
import zlib
from typing import TYPE_CHECKING

import numpy as np

from .errors import damaged, missing

if TYPE_CHECKING:
    from pathlib import Path

    Table = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


def read_numbers(path: Path, delimiter: str, rows: int, columns: int | None, name: str) -> Table:
    """Read exactly ``rows`` x ``columns`` finite numbers; ``columns=None`` accepts any number of them."""
    expected = f"{rows} rows of {'equally many' if columns is None else columns} numbers"
    if not path.is_file():
        raise missing(path, expected, name)
    try:
        with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
            table = np.loadtxt(lines, delimiter=delimiter, ndmin=2)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise damaged(path, expected, f"an unreadable file ({error})", name) from error
    if len(table) != rows or (columns is not None and table.shape[1] != columns):
        raise damaged(path, expected, f"{table.shape[0]} rows of {table.shape[1]}", name)
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise damaged(path, expected, f"{table[row, column]} in row {row}, column {column}", name)
    return table
