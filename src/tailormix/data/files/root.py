"""The folder that holds all data sets: ``TAILORMIX_DATA``, else the user's cache."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from .errors import DataError


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
