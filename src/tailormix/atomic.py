"""Files appear whole or not at all: written beside their place, then moved there in one step."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

#: the name of a file on its way, as :func:`tempfile.mkstemp` completes it
PART = r"\..+\.[a-z0-9_]{8}\.part"


def write_atomically(path: str | os.PathLike[str], data: bytes | str) -> Path:
    """Write ``data`` to ``path``; a failure on the way leaves an older file as it was.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(Path(folder, "a.txt"), "α").read_text(encoding="utf-8")
    'α'
    """
    path = Path(path)
    raw = data.encode() if isinstance(data, str) else data
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    except OSError as error:
        error.filename = str(path)  # what was asked for, instead of the file on its way
        raise
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return path


def remove_parts(folder: str | os.PathLike[str]) -> list[Path]:
    """Remove what killed writes have left in ``folder``, and return their paths; nobody may be writing there.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in (".a.txt.k3x_9abc.part", "notes.part", ".notes.part"):
    ...         Path(folder, name).touch()
    ...     [path.name for path in remove_parts(folder)]
    ['.a.txt.k3x_9abc.part']
    """
    parts = [path for path in Path(folder).glob(".*.part") if re.fullmatch(PART, path.name)]
    for path in parts:
        path.unlink(missing_ok=True)
    return parts
