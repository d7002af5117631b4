"""Fetch what is missing of a data set, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import imagenet
from .download import Progress, fetch, quiet
from .errors import DataError
from .owners import PUBLISHED
from .root import writable
from .unpack import unpack
from .verify import check, state, verify, write_manifest

if TYPE_CHECKING:
    from pathlib import Path

    from .published import Download, Published


def get(name: str, root: Path, progress: Progress = quiet) -> bool:
    """Make the files of data set ``name`` lie under ``root``; return whether anything had to be fetched.

    Files that are there and right are kept. A set that is still wrong afterwards raises its first problem.
    """
    published = PUBLISHED[name]
    if state(published, root) == "present" and not verify(name, published, root):
        return False
    writable(root)
    if published.by_hand:
        _prepare(name, published, root)
    right = {stored.path for stored in published.files if check(name, stored, root) is None}
    for download in published.downloads:
        if f"{download.into}/{download.name}" not in right:
            _get_one(name, download, root, published.folder, progress)
    if problems := verify(name, published, root):
        raise problems[0]
    return True


def _prepare(name: str, published: Published, root: Path) -> None:
    """Check what the user fetched by hand, then lay it out."""
    folder = writable(root / published.folder)
    needed = set(imagenet.needed(folder))
    for stored in published.archives:
        path = root / stored.path
        if path.name in needed and not path.is_file():
            raise DataError(f"missing file {path}; to mend it: {published.by_hand} {folder}")
        if path.name in needed and (problem := check(name, stored, root)):
            raise problem
    imagenet.prepare(folder)


def _get_one(name: str, download: Download, root: Path, folder: str, progress: Progress) -> None:
    into = writable(root / download.into)
    path = fetch(download, into, name, progress)
    if download.unpack is None:
        return
    made = unpack(path, into, download.unpack)
    if root / folder not in made:
        raise DataError(
            f"wrong file {path}: expected a folder {folder}, got {[entry.name for entry in made]}"
        )
    write_manifest(root / folder)
    path.unlink()
