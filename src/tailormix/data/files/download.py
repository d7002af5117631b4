"""Download data sets by name: checked, resumed after an interruption, unpacked safely."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tailormix.data.files.archives import needed_imagenet_archives, prepare_imagenet, unpack
from tailormix.data.files.location import DataError, command, writable
from tailormix.data.files.verify import check, state, verify, write_manifest
from tailormix.data.registry import published_files

if TYPE_CHECKING:
    from tailormix.data.files.published import Download, PublishedFiles

_TIMEOUT = 60


class Progress(Protocol):
    """Called with the bytes that have arrived; the command line draws a bar from it."""

    def __call__(self, done: int, total: int | None) -> None:
        """Show that ``done`` of ``total`` bytes have arrived."""


def no_progress(done: int, total: int | None) -> None:
    """Show nothing.

    >>> no_progress(1, None)
    """


def get(name: str, root: Path, progress: Progress = no_progress) -> bool:
    """Download the files of data set ``name`` into ``root``; return whether anything had to be done.

    Files that are there and right stay. A data set that is still wrong afterwards raises its first problem.
    """
    published = published_files(name)
    if state(name, root) == "present" and not verify(name, root):
        return False
    writable(root)
    if published.archives:
        _prepare_imagenet(name, published, root)
    elif published.by_hand:
        raise DataError(f"{name} has no download: {published.by_hand} {root / published.folder}")
    intact = {stored.path for stored in published.files if check(name, stored, root) is None}
    wanted = [download for download in published.downloads if download.path not in intact]
    if wanted:
        _download(name, published, wanted, root, progress)
    if problems := verify(name, root):
        raise problems[0]
    return True


def _download(
    name: str, published: PublishedFiles, wanted: list[Download], root: Path, progress: Progress
) -> None:
    import pooch

    pooch.get_logger().setLevel("WARNING")
    registry = pooch.create(
        path=root,
        base_url="",
        registry={download.path: download.checksum for download in wanted},
        urls={download.path: download.url for download in wanted},
    )
    for download in wanted:
        path = root / download.path
        _check_space(writable(path.parent), download)
        try:
            registry.fetch(
                download.path,
                downloader=ResumingDownloader(path.with_name(f"{path.name}.part"), download.bytes, progress),
                processor=Unpack(root / published.folder) if download.unpack else None,
            )
        except DataError:
            raise
        except ValueError as error:  # the checksum differs: pooch has removed the file
            raise DataError(
                f"wrong file from {download.url}: expected {download.checksum}, got another file; "
                f"to fix it: {command(name)}, or put {path.name} into {path.parent} yourself"
            ) from error
        except OSError as error:  # requests' errors are OSErrors, and so is a full disk
            raise DataError(
                f"could not download {download.url}: {error}; to resume: {command(name)}"
            ) from error


@dataclass(frozen=True)
class ResumingDownloader:
    """A downloader for pooch that resumes: what arrived before an interruption stays in the file ``part``.

    ``size`` is the size of the whole file, where it is published.
    """

    part: Path
    size: int | None
    progress: Progress

    def __call__(self, url: str, output_file: str, _pooch: Any) -> None:
        """Download what is missing, then move the whole file to where pooch expects it."""
        arrived = self.part.stat().st_size if self.part.exists() else 0
        if self.size is None or arrived != self.size:
            self._append(url, arrived if self.size is None or arrived < self.size else 0)
        self.part.replace(output_file)

    def _append(self, url: str, start: int) -> None:
        """Download from byte ``start`` on, or from the beginning where the server cannot do that."""
        import requests

        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
        with requests.get(url, stream=True, timeout=_TIMEOUT, headers=headers) as response:
            if response.status_code == requests.codes.requested_range_not_satisfiable:
                return self._append(url, 0)
            response.raise_for_status()
            if not response.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
                start = 0  # the server sends the whole file
            length = response.headers.get("Content-Length")
            total = start + int(length) if length else None
            with self.part.open("r+b" if start else "wb") as file:
                file.seek(start)
                file.truncate()
                for chunk in response.iter_content(1 << 20):
                    file.write(chunk)
                    self.progress(file.tell(), total)
        return None


@dataclass(frozen=True)
class Unpack:
    """A processor for pooch: unpacks an archive of ``folder``, writes its manifest, removes the archive."""

    folder: Path

    def __call__(self, fname: str, _action: str, _pooch: Any) -> str:
        """Unpack the archive ``fname`` beside itself."""
        archive = Path(fname)
        made = unpack(archive, archive.parent)
        if self.folder not in made:
            names = [entry.name for entry in made]
            raise DataError(f"wrong file {archive}: expected a folder {self.folder.name}, got {names}")
        write_manifest(self.folder)
        archive.unlink()
        return str(self.folder)


def _check_space(folder: Path, download: Download) -> None:
    """Fail before the download starts if the disk cannot hold it (twice the size when unpacked)."""
    needed = (download.bytes or 0) * (2 if download.unpack else 1)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise DataError(
            f"not enough room in {folder} for {download.path}: expected {needed:,} bytes free, got {free:,}; "
            "to fix it: free some, or set TAILORMIX_DATA to another disk"
        )


def _prepare_imagenet(name: str, published: PublishedFiles, root: Path) -> None:
    """Check the archives that the user must download, then unpack them into class folders."""
    folder = writable(root / published.folder)
    needed = needed_imagenet_archives(folder)
    for stored in published.archives:
        path = root / stored.path
        if path.name not in needed:
            continue
        if not path.is_file():
            raise DataError(f"missing file {path}; to fix it: {published.by_hand} {folder}")
        if problem := check(name, stored, root):
            raise problem
    prepare_imagenet(folder)
