"""Download one published file through pooch: checksum, progress, and going on where it stopped."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from .errors import DataError, command

if TYPE_CHECKING:
    from .published import Download

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
