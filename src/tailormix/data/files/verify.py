"""Compare the files that lie under the data root with what their owners publish."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import zlib
from typing import IO, TYPE_CHECKING, Literal

from tailormix.data.files.location import DataError, damaged, missing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tailormix.data.files.published import Published, Stored


State = Literal["present", "incomplete", "absent"]
MANIFEST = ".tailormix.json"


def state(published: Published, root: Path) -> State:
    """Look at names and sizes only, so that listing all data sets is instant."""
    folder = root / published.folder
    if not folder.is_dir() or not any(path.name[0] != "." for path in folder.iterdir()):
        return "absent"
    return "incomplete" if any(_quick_problems(published, root)) else "present"


def verify(name: str, published: Published, root: Path) -> list[DataError]:
    """Read every file, and return what is wrong with any: the empty list means that all is well."""
    problems = [error for stored in published.files if (error := check(name, stored, root))]
    for pattern, expected in published.counts:
        folder = root / published.folder
        if (got := count(folder, pattern)) != expected:
            problems.append(damaged(folder, f"{expected} files {pattern}", str(got), name))
    problems += _manifest_problems(name, root / published.folder)
    return problems


def write_manifest(folder: Path) -> None:
    """Record size and sha256 of every file, so that later damage is found where no checksum is published."""
    record = {
        path.relative_to(folder).as_posix(): [path.stat().st_size, checksum(path, "sha256")]
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(MANIFEST)
    }
    temporary = folder / f"{MANIFEST}.{os.getpid()}"
    try:
        temporary.write_text(json.dumps(record, indent=0))
        temporary.replace(folder / MANIFEST)
    finally:
        temporary.unlink(missing_ok=True)


def checksum(path: Path, algorithm: str, *, inside_gzip: bool = False) -> str:
    """Return the file's (or its unpacked contents') checksum in hexadecimal digits."""
    digest = hashlib.new(algorithm, usedforsecurity=False)
    with _opened(path, inside_gzip) as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def count(folder: Path, pattern: str) -> int:
    """Return the number of files that ``pattern`` matches."""
    return sum(1 for _ in folder.glob(pattern))


def _opened(path: Path, inside_gzip: bool) -> IO[bytes] | gzip.GzipFile:
    return gzip.open(path) if inside_gzip else path.open("rb")


def _describe(stored: Stored) -> str:
    texts = (" and ".join(_facts(size, digest)) for size, digest in stored.versions)
    return " or ".join(texts) + (" unpacked" if stored.inside_gzip else "")


def _facts(size: int | None, digest: str | None) -> Iterator[str]:
    if size is not None:
        yield f"{size} bytes"
    if digest is not None:
        yield digest


def check(name: str, stored: Stored, root: Path) -> DataError | None:
    """Read one file and return what is wrong with it, if anything."""
    path = root / stored.path
    if not path.is_file():
        return missing(path, _describe(stored), name)
    try:
        size = _size(path, stored.inside_gzip)
        for expected, digest in stored.versions:
            if expected in (None, size) and _matches(path, digest, stored.inside_gzip):
                return None
    except (OSError, EOFError, zlib.error) as error:
        return damaged(path, _describe(stored), f"an unreadable file ({error})", name)
    known = any(expected in (None, size) for expected, _ in stored.versions)
    return damaged(path, _describe(stored), f"{size} bytes" + (" of other contents" if known else ""), name)


def _size(path: Path, inside_gzip: bool) -> int:
    if not inside_gzip:
        return path.stat().st_size
    with gzip.open(path) as file:
        return sum(len(chunk) for chunk in iter(lambda: file.read(1 << 20), b""))


def _matches(path: Path, digest: str | None, inside_gzip: bool) -> bool:
    if digest is None:
        return True
    algorithm, value = digest.split(":")
    return checksum(path, algorithm, inside_gzip=inside_gzip) == value


def _quick_problems(published: Published, root: Path) -> Iterator[bool]:
    for stored in published.files:
        path = root / stored.path
        sizes = [size for size, _ in stored.versions]
        known = None not in sizes and not stored.inside_gzip
        yield not path.is_file() or (known and path.stat().st_size not in sizes)
    for pattern, _ in published.counts:
        yield next((root / published.folder).glob(pattern), None) is None


def _manifest_problems(name: str, folder: Path) -> list[DataError]:
    manifest = folder / MANIFEST
    if not manifest.is_file():
        return []
    problems = []
    for relative, (size, digest) in json.loads(manifest.read_text()).items():
        path = folder / relative
        expected = f"{size} bytes and sha256:{digest}"
        if not path.is_file():
            problems.append(missing(path, expected, name))
        elif checksum(path, "sha256") != digest:
            problems.append(damaged(path, expected, f"{path.stat().st_size} bytes, changed", name))
    return problems
