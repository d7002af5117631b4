"""The folder of a run: one writer at a time, enough disk space, and files that are never half written."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from typing import TYPE_CHECKING, Any

from tailormix.atomic import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path


CHECKPOINTS, METRICS, RESULT, EXPERIMENT = "checkpoints", "metrics.jsonl", "result.json", "experiment.json"
CALIBRATOR = "calibrator.json"


class RunError(ValueError):
    """A run cannot start or resume as it was asked for; the message says why and how to fix it."""


def prepare(folder: Path) -> Path:
    """Make the folder; raise if it cannot be written, before any work starts."""
    try:
        (folder / CHECKPOINTS).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder / CHECKPOINTS) as file:
            file.write(b"\0" * 4096)
            file.flush()
    except OSError as error:
        raise RunError(
            f"cannot write into {folder} ({error.strerror}): choose another folder with --out"
        ) from error
    return folder


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
    """Lock the folder for this process; the system releases it even if the process is killed."""
    from filelock import FileLock, Timeout

    try:
        with FileLock(folder / ".lock", timeout=0):
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
    except FileNotFoundError:
        return None
    except ValueError as error:
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
