"""Downloads that resume and are checked, and whole data sets fetched by name."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tailormix.data import imagenet
from tailormix.data.files.archives import unpack
from tailormix.data.files.location import DataError, command, writable
from tailormix.data.files.published import PUBLISHED
from tailormix.data.files.verify import check, state, verify, write_manifest

if TYPE_CHECKING:
    from tailormix.data.files.published import Download, Published


_CHUNK = 1 << 20
_TIMEOUT = 60


class Progress(Protocol):
    """Told how many bytes of how many are there; the command line draws a bar from it."""

    def __call__(self, done: int, total: int | None) -> None:
        """Show that ``done`` of ``total`` bytes are there."""


def quiet(done: int, total: int | None) -> None:
    """Show nothing.

    >>> quiet(1, None)
    """


def fetch(download: Download, folder: Path, name: str, progress: Progress = quiet) -> Path:
    """Download into ``folder`` and return the path; ``name`` is the data set, for messages.

    What arrived before an interruption stays in a ``.part`` file, and the next call asks for the rest.
    """
    import pooch

    room(folder, download)
    pooch.get_logger().setLevel("WARNING")
    part = folder / f"{download.name}.part"

    def resume(url: str, output_file: str, _: object) -> None:
        _resume(url, part, download.bytes, progress)
        part.replace(output_file)

    try:
        got = pooch.retrieve(
            download.url, download.checksum, fname=download.name, path=folder, downloader=resume
        )
    except ValueError as error:  # the checksum differs: pooch has removed the file
        raise DataError(
            f"wrong file from {download.url}: expected {download.checksum}, got another file; "
            f"to mend it: {command(name)}, or fetch {download.name} by hand into {folder}"
        ) from error
    except OSError as error:  # requests' errors are OSErrors, and so is a full disk
        raise DataError(
            f"could not download {download.url}: {error}; to go on where it stopped: {command(name)}"
        ) from error
    return Path(got)


def room(folder: Path, download: Download) -> None:
    """Fail before the download starts where the disk cannot hold it (twice the size when unpacked)."""
    needed = (download.bytes or 0) * (2 if download.unpack else 1)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise DataError(
            f"not enough room in {folder} for {download.name}: expected {needed:,} bytes free, got {free:,}; "
            "to mend it: free some, or set TAILORMIX_DATA to another disk"
        )


def _resume(url: str, part: Path, size: int | None, progress: Progress) -> None:
    """Append to ``part`` what is missing; start afresh where the server cannot go on in the middle."""
    import requests

    start = part.stat().st_size if part.exists() else 0
    if size is not None and start == size:
        return None
    if size is not None and start > size:
        start = 0
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
    with requests.get(url, stream=True, timeout=_TIMEOUT, headers=headers) as response:
        if response.status_code == requests.codes.requested_range_not_satisfiable:
            part.unlink()
            return _resume(url, part, size, progress)
        response.raise_for_status()
        _append(response, part, start if _continues(response, start) else 0, progress)
    return None


def _continues(response: Any, start: int) -> bool:
    given = str(response.headers.get("Content-Range", ""))
    return response.status_code == 206 and given.startswith(f"bytes {start}-")


def _append(response: Any, part: Path, start: int, progress: Progress) -> None:
    length = response.headers.get("Content-Length")
    total = start + int(length) if length else None
    with part.open("r+b" if start else "wb") as out:
        out.seek(start)
        out.truncate()
        for chunk in response.iter_content(_CHUNK):
            out.write(chunk)
            progress(out.tell(), total)


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
