"""Where data lie, what is said when they do not, and tables of numbers in text files."""

from __future__ import annotations

import gzip
import os
import tempfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    Table = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


def data_root(root: str | Path | None = None) -> Path:
    """Return ``root`` itself, else the folder ``TAILORMIX_DATA`` names, else the user's cache.

    >>> data_root("/data").as_posix()
    '/data'
    """
    if root is not None:
        return Path(root)
    if named := os.environ.get("TAILORMIX_DATA"):
        return Path(named).expanduser()
    import pooch

    return Path(pooch.os_cache("tailormix"))


def writable(folder: Path) -> Path:
    """Make ``folder``, or say before any work starts that it cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise DataError(
            f"cannot write into {folder} ({error.strerror}); to mend it: "
            "set TAILORMIX_DATA to a folder that can be written"
        ) from error


class DataError(Exception):
    """A file of a data set is missing, truncated or foreign; the message says how to mend it."""


def missing(path: Path, expected: str, name: str) -> DataError:
    """Say that ``path`` is not there.

    >>> from pathlib import Path
    >>> print(missing(Path("a.bin"), "30730000 bytes", "cifar10"))
    missing file a.bin (expected 30730000 bytes); to mend it: tailormix data get cifar10
    """
    return DataError(f"missing file {path} (expected {expected}); to mend it: {command(name)}")


def damaged(path: Path, expected: str, got: str, name: str) -> DataError:
    """Say that ``path`` is not what it should be.

    >>> from pathlib import Path
    >>> print(damaged(Path("a.bin"), "30730000 bytes", "7 bytes", "cifar10"))
    wrong file a.bin: expected 30730000 bytes, got 7 bytes; to mend it: tailormix data get cifar10
    """
    return DataError(f"wrong file {path}: expected {expected}, got {got}; to mend it: {command(name)}")


def unusable(path: Path, expected: str, got: str) -> DataError:
    """Say that the user's own file ``path`` cannot be read as data.

    >>> from pathlib import Path
    >>> print(unusable(Path("my.csv"), "numbers", "'red' in row 3"))
    cannot use my.csv: expected numbers, got 'red' in row 3
    """
    return DataError(f"cannot use {path}: expected {expected}, got {got}")


def command(name: str) -> str:
    """Name the command that fetches a data set afresh."""
    return f"tailormix data get {name}"


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
