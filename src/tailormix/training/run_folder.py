"""The folder of a run: one writer at a time, enough disk space, and files that are never half written."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import shutil
import tempfile
from typing import TYPE_CHECKING, Any

from tailormix.atomic import remove_parts, write_atomically
from tailormix.training import checkpoint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path


CHECKPOINTS, METRICS, RESULT, EXPERIMENT = "checkpoints", "metrics.jsonl", "result.json", "experiment.json"
CALIBRATOR = "calibrator.json"
OLD = ".old-"


class RunError(ValueError):
    """A run cannot start or resume as it was asked for; the message says why and how to fix it."""


def prepare(folder: Path) -> Path:
    """Make the folder; raise if it cannot be written, before any work starts."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        inner = folder / CHECKPOINTS
        with tempfile.TemporaryFile(dir=inner if checkpoint.is_there(inner) else folder) as file:
            file.write(b"\0" * 4096)
            file.flush()
    except OSError as error:
        raise RunError(
            f"cannot write into {folder} ({error.strerror}): choose another folder with --out"
        ) from error
    return folder


def has_begun(folder: Path) -> bool:
    """Whether the folder holds work of a run: a checkpoint, or its result."""
    newest = checkpoint.newest(folder / CHECKPOINTS)
    return newest is not None or checkpoint.is_there(folder / RESULT)


def set_aside(folder: Path) -> Path | None:
    """Rename the folder of a run that has begun to ``NAME.old-1``, or the next free number; return that."""
    if not has_begun(folder):
        return None
    names = (folder.with_name(f"{folder.name}{OLD}{number}") for number in itertools.count(1))
    try:
        with locked(folder):
            return folder.rename(next(path for path in names if not checkpoint.is_there(path)))
    except OSError as error:
        raise RunError(f"cannot move {folder} aside ({error.strerror}): choose another --out") from error


def is_aside(folder: Path) -> bool:
    """Whether the folder has a name that :func:`set_aside` gives.

    >>> from pathlib import Path
    >>> is_aside(Path("runs/seed-0.old-2")), is_aside(Path("runs/seed-0"))
    (True, False)
    """
    return re.search(rf"{re.escape(OLD)}[0-9]+$", folder.name) is not None


def need_room(folder: Path, size: int) -> None:
    """Raise if the disk has no room for the files of ``size`` bytes that a run keeps, and for one more."""
    free, wanted = shutil.disk_usage(folder).free, 4 * size
    if free < wanted:
        raise RunError(
            f"{folder} needs about {wanted / 1e6:.1f} MB for checkpoints, "
            f"but only {free / 1e6:.1f} MB are free"
        )


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock the folder for this process, and remove what killed writes of earlier ones have left there.

    The system releases the lock even if the process is killed.
    """
    from filelock import FileLock, Timeout

    try:
        with FileLock(folder / ".lock", timeout=0):
            for place in (folder, folder / CHECKPOINTS):
                remove_parts(place)
            yield
    except Timeout as error:
        raise RunError(
            f"another process is writing into {folder}: wait for it, or choose another --out"
        ) from error


def write_json(path: Path, value: Mapping[str, Any]) -> Path:
    """Write a JSON object, atomically and indented."""
    return write_atomically(path, json.dumps(value, indent=2) + "\n")


def read_json(path: Path) -> dict[str, Any] | None:
    """Read a JSON object, or None where there is no such file."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, RecursionError) as error:
        raise RunError(f"{path} is not JSON ({error}): remove it and run again") from error
    if not isinstance(found, dict):
        raise RunError(f"{path} must hold a JSON object, got {type(found).__name__}: remove it and run again")
    return found


def rewrite_metrics(folder: Path, history: Sequence[Mapping[str, Any]]) -> None:
    """Write ``metrics.jsonl`` anew from ``history``: a checkpoint may be older than its last line."""
    write_atomically(folder / METRICS, "".join(json.dumps(row) + "\n" for row in history))


def append_metrics(folder: Path, row: Mapping[str, Any]) -> None:
    """Add one line for one epoch."""
    with (folder / METRICS).open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
