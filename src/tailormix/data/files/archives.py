"""Unpack archives without trusting them: nothing lands outside the folder, nothing is linked."""

from __future__ import annotations

import contextlib
import gzip
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Literal

from tailormix.data.files.location import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator


#: an archive's file: its name, and its contents when opened
Member = tuple[str, contextlib.AbstractContextManager[IO[bytes]]]

_BROKEN = (tarfile.TarError, zipfile.BadZipFile, gzip.BadGzipFile, EOFError, zlib.error)


def unpack(archive: Path, into: Path, kind: Literal["tar", "zip"]) -> list[Path]:
    """Unpack ``archive`` into ``into`` and return the top-level entries it made.

    Everything is written into a temporary folder first and then renamed, so that an interruption leaves
    nothing half-unpacked under its final name. An entry that is there already is replaced.
    """
    work = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=into))
    try:
        for name, opened in members(archive, kind):
            _write(work / inside(name, archive), opened)
        return [_moved(entry, into / entry.name) for entry in sorted(work.iterdir())]
    except _BROKEN as error:
        raise DataError(f"wrong file {archive}: expected a whole {kind} archive, got: {error}") from error
    except OSError as error:
        raise DataError(f"could not unpack {archive} into {into}: {error}") from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def members(archive: Path, kind: Literal["tar", "zip"]) -> Iterator[Member]:
    """Yield (name, opener) of each regular file; links and devices are refused."""
    return _tar_members(archive) if kind == "tar" else _zip_members(archive)


def inside(name: str, archive: Path) -> PurePosixPath:
    """Return a member's path if it stays inside the folder.

    >>> inside("../../etc/passwd", Path("a.tar"))
    Traceback (most recent call last):
    tailormix.data.files.location.DataError: wrong file a.tar: ... outside the folder: '../../etc/passwd'
    """
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or not path.parts or ":" in path.parts[0]:
        raise DataError(f"wrong file {archive}: it would write outside the folder: {name!r}")
    return path


def _tar_members(archive: Path) -> Iterator[Member]:
    with tarfile.open(archive) as tar:
        for entry in tar:
            if entry.isdir():
                continue
            opened = tar.extractfile(entry) if entry.isreg() else None
            if opened is None:
                raise DataError(f"wrong file {archive}: it holds a link or a device: {entry.name!r}")
            yield entry.name, opened


def _zip_members(archive: Path) -> Iterator[Member]:
    with zipfile.ZipFile(archive) as bundle:
        for entry in bundle.infolist():
            if entry.is_dir():
                continue
            if stat.S_ISLNK(entry.external_attr >> 16):
                raise DataError(f"wrong file {archive}: it holds a link or a device: {entry.filename!r}")
            yield entry.filename, bundle.open(entry)


def _write(path: Path, opened: contextlib.AbstractContextManager[IO[bytes]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with opened as source, path.open("wb") as target:
        shutil.copyfileobj(source, target, 1 << 20)


def _moved(entry: Path, target: Path) -> Path:
    if target.is_dir() and entry.is_dir():
        shutil.rmtree(target)
    entry.replace(target)
    return target
