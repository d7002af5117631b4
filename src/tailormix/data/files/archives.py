"""Unpack archives without trusting them: nothing is written outside the folder, nothing is linked."""

from __future__ import annotations

import lzma
import shutil
import stat
import struct
import tarfile
import tempfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING

from tailormix.data.files.location import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

#: what damaged, encrypted and foreign files make tarfile, zipfile and the decompressors raise
BROKEN = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    ValueError,
    LookupError,
    ArithmeticError,
    RuntimeError,
)
#: the bit of a zip entry's flags
ENCRYPTED = 1
#: data sets are images and numbers, which hardly compress: what unpacks to much more is no data set
_GROWTH, _SMALL = 4, 64 << 20


def unpack(archive: Path, into: Path) -> list[Path]:
    """Unpack a ``.zip`` or (compressed) tar archive and return the top-level entries that it made.

    An archive that would unpack to more than four times its size (or 64 MB) is refused. Everything is written
    into a temporary folder first and then renamed, so that an interruption leaves nothing half-unpacked under
    its final name. An entry that exists already is replaced.
    """
    kind = "zip" if archive.suffix == ".zip" else "tar"
    try:
        room = max(_GROWTH * archive.stat().st_size, _SMALL)
        with tempfile.TemporaryDirectory(prefix=".unpacking-", dir=into, ignore_cleanup_errors=True) as work:
            for name, size, source in _zip_files(archive) if kind == "zip" else _tar_files(archive):
                room -= size + tarfile.BLOCKSIZE
                if room < 0:
                    raise DataError(
                        f"wrong file {archive}: expected a data set, got too much to unpack at {name!r}"
                    )
                target = Path(work) / safe_path(name, archive)
                target.parent.mkdir(parents=True, exist_ok=True)
                with source, target.open("wb") as file:
                    shutil.copyfileobj(source, file, 1 << 20)
            return [_move(entry, into / entry.name) for entry in sorted(Path(work).iterdir())]
    except DataError:
        raise
    except BROKEN as error:
        raise DataError(f"wrong file {archive}: expected a whole {kind} archive, got: {error}") from error
    except OSError as error:
        raise DataError(f"could not unpack {archive} into {into}: {error}") from error


def safe_path(name: str, archive: Path) -> PurePosixPath:
    """Return the path of an archive's member if it stays inside the folder.

    >>> safe_path("../../etc/passwd", Path("a.tar"))
    Traceback (most recent call last):
    tailormix.data.files.location.DataError: wrong file a.tar: ... outside the folder: '../../etc/passwd'
    """
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or not path.parts or ":" in path.parts[0]:
        raise DataError(f"wrong file {archive}: it would write outside the folder: {name!r}")
    return path


def _tar_files(archive: Path) -> Iterator[tuple[str, int, IO[bytes]]]:
    """Name, size and contents of each regular file; links and devices are refused."""
    with tarfile.open(archive) as tar:
        for entry in tar:
            if entry.isdir():
                continue
            source = tar.extractfile(entry) if entry.isreg() else None
            if source is None:
                raise DataError(f"wrong file {archive}: it holds a link or a device: {entry.name!r}")
            yield entry.name, entry.size, source


def _zip_files(archive: Path) -> Iterator[tuple[str, int, IO[bytes]]]:
    with zipfile.ZipFile(archive) as bundle:
        for entry in bundle.infolist():
            if entry.is_dir():
                continue
            if stat.S_ISLNK(entry.external_attr >> 16):
                raise DataError(f"wrong file {archive}: it holds a link or a device: {entry.filename!r}")
            if entry.flag_bits & ENCRYPTED:
                raise DataError(f"wrong file {archive}: it is encrypted: {entry.filename!r}")
            yield entry.filename, entry.file_size, bundle.open(entry)


def _move(entry: Path, target: Path) -> Path:
    if target.is_dir() and entry.is_dir():
        shutil.rmtree(target)
    return entry.replace(target)
