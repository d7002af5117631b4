"""What is wrong with a file, what was expected, and the command that mends it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


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
