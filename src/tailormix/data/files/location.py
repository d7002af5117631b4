"""Where data sets are stored, and the errors that say what is wrong with a file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import platformdirs


def data_root(root: str | Path | None = None) -> Path:
    """Return ``root`` itself, else the folder that ``TAILORMIX_DATA`` names, else the user's cache.

    >>> data_root("/data").as_posix()
    '/data'
    """
    if root is not None:
        return Path(root)
    if named := os.environ.get("TAILORMIX_DATA"):
        return Path(named).expanduser()
    return platformdirs.user_cache_path("tailormix")


def writable(folder: Path) -> Path:
    """Create ``folder``, and fail before any work starts if it cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise DataError(
            f"cannot write into {folder} ({error.strerror}); to fix it: "
            "set TAILORMIX_DATA to a folder that can be written"
        ) from error


class DataError(ValueError):
    r"""A file of a data set is missing, damaged or unusable; one line says which, where, and how to fix it.

    >>> print(DataError("wrong file a.tar: it could not be opened:\n- not a tar file"))
    wrong file a.tar: it could not be opened: - not a tar file
    """

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(line.strip() for line in message.splitlines()))


def missing(path: Path, expected: str, name: str) -> DataError:
    """The error for a file that is not there.

    >>> from pathlib import Path
    >>> print(missing(Path("a.bin"), "30730000 bytes", "cifar10"))
    missing file a.bin (expected 30730000 bytes); to fix it: tailormix data get cifar10
    """
    return DataError(f"missing file {path} (expected {expected}); to fix it: {command(name)}")


def damaged(path: Path, expected: str, got: str, name: str) -> DataError:
    """The error for a file with other contents than published.

    >>> from pathlib import Path
    >>> print(damaged(Path("a.bin"), "30730000 bytes", "7 bytes", "cifar10"))
    wrong file a.bin: expected 30730000 bytes, got 7 bytes; to fix it: tailormix data get cifar10
    """
    return DataError(f"wrong file {path}: expected {expected}, got {got}; to fix it: {command(name)}")


def unusable(path: Path, expected: str, got: str) -> DataError:
    """The error for a file of the user that cannot be read as data.

    >>> from pathlib import Path
    >>> print(unusable(Path("my.csv"), "numbers", "'red' in row 3"))
    cannot use my.csv: expected numbers, got 'red' in row 3
    """
    return DataError(f"cannot use {path}: expected {expected}, got {got}")


def check_file(path: Path, expected: str) -> Path:
    """Return ``path`` if it is a file with something in it.

    >>> from pathlib import Path
    >>> check_file(Path("nosuch.csv"), "a table")
    Traceback (most recent call last):
    tailormix.data.files.location.DataError: cannot use nosuch.csv: expected a table, got no such file
    """
    try:
        size = path.stat().st_size
    except FileNotFoundError as error:
        raise unusable(path, expected, "no such file") from error
    except (OSError, ValueError) as error:
        raise unusable(path, expected, getattr(error, "strerror", None) or str(error)) from error
    if path.is_dir():
        raise unusable(path, expected, "a folder")
    if size == 0:
        raise unusable(path, expected, "an empty file")
    return path


def command(name: str) -> str:
    """The command that downloads a data set again."""
    return f"tailormix data get {name}"
