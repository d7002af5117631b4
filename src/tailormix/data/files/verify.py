"""Compare the files under the data root with what is published."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from typing import TYPE_CHECKING, Literal

from tailormix.atomic import write_atomically
from tailormix.data.files.location import DataError, damaged, missing
from tailormix.data.registry import published_files

if TYPE_CHECKING:
    from pathlib import Path

    from tailormix.data.files.published import StoredFile

MANIFEST = ".tailormix.json"
_CHUNK = 1 << 20


def state(name: str, root: Path) -> Literal["present", "incomplete", "absent"]:
    """Whether the files of data set ``name`` are there, by names and sizes only, which takes no time."""
    published = published_files(name)
    folder = root / published.folder
    if not folder.is_dir() or not any(path.name[0] != "." for path in folder.iterdir()):
        return "absent"
    for stored in published.files:
        path = root / stored.path
        sizes = [size for size, _ in stored.versions]
        known = None not in sizes and not stored.inside_gzip
        if not path.is_file() or (known and path.stat().st_size not in sizes):
            return "incomplete"
    if any(next(folder.glob(pattern), None) is None for pattern, _ in published.counts):
        return "incomplete"
    return "present"


def verify(name: str, root: Path) -> list[DataError]:
    """Read every file of data set ``name``, and return what is wrong; an empty list means nothing."""
    published = published_files(name)
    folder = root / published.folder
    problems = [error for stored in published.files if (error := check(name, stored, root))]
    for pattern, expected in published.counts:
        if (got := sum(1 for _ in folder.glob(pattern))) != expected:
            problems.append(damaged(folder, f"{expected} files {pattern}", str(got), name))
    return problems + _check_manifest(name, folder)


def check(name: str, stored: StoredFile, root: Path) -> DataError | None:
    """Read one file and return what is wrong with it, if anything."""
    path = root / stored.path
    if not path.is_file():
        return missing(path, _describe(stored), name)
    try:
        size = _size(path, stored.inside_gzip)
        digests = [digest for expected, digest in stored.versions if expected in (None, size)]
        if any(digest is None or _matches(path, digest, stored.inside_gzip) for digest in digests):
            return None
    except (OSError, EOFError, zlib.error) as error:
        return damaged(path, _describe(stored), f"an unreadable file ({error})", name)
    got = f"{size} bytes" + (" of other contents" if digests else "")
    return damaged(path, _describe(stored), got, name)


def write_manifest(folder: Path) -> None:
    """Record size and SHA-256 of every file, so that damage is found later where no checksum is published."""
    record = {
        path.relative_to(folder).as_posix(): [path.stat().st_size, checksum(path, "sha256")]
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != MANIFEST
    }
    write_atomically(folder / MANIFEST, json.dumps(record, indent=0))


def _check_manifest(name: str, folder: Path) -> list[DataError]:
    problems = []
    try:
        recorded = _read_manifest(folder / MANIFEST)
    except (OSError, ValueError, RecursionError) as error:
        return [DataError(f"cannot read {folder / MANIFEST}: {error}; to fix it: remove it")]
    for relative, (size, digest) in recorded.items():
        path = folder / relative
        expected = f"{size} bytes and sha256:{digest}"
        if not path.is_file():
            problems.append(missing(path, expected, name))
        elif checksum(path, "sha256") != digest:
            problems.append(damaged(path, expected, f"{path.stat().st_size} bytes, changed", name))
    return problems


def _read_manifest(path: Path) -> dict[str, tuple[int, str]]:
    """Size and SHA-256 of every file that was recorded."""
    recorded = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    if not isinstance(recorded, dict):
        raise ValueError(f"expected an object, got {type(recorded).__name__}")
    for name, entry in recorded.items():
        match entry:
            case [int(), str()]:
                continue
        raise ValueError(f"expected the size and the SHA-256 of {name!r}, got {json.dumps(entry)[:60]}")
    return {name: (size, digest) for name, (size, digest) in recorded.items()}


def checksum(path: Path, algorithm: str, *, inside_gzip: bool = False) -> str:
    """Return the checksum of the file (or of its uncompressed contents) in hexadecimal digits."""
    digest = hashlib.new(algorithm, usedforsecurity=False)
    with gzip.open(path) if inside_gzip else path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _size(path: Path, inside_gzip: bool) -> int:
    if not inside_gzip:
        return path.stat().st_size
    with gzip.open(path) as file:
        return sum(len(chunk) for chunk in iter(lambda: file.read(_CHUNK), b""))


def _matches(path: Path, digest: str, inside_gzip: bool) -> bool:
    algorithm, value = digest.split(":")
    return checksum(path, algorithm, inside_gzip=inside_gzip) == value


def _describe(stored: StoredFile) -> str:
    versions = (
        " and ".join([*([f"{size} bytes"] if size is not None else []), *([digest] if digest else [])])
        for size, digest in stored.versions
    )
    return " or ".join(versions) + (" uncompressed" if stored.inside_gzip else "")
