"""Records of what the owners of a data set publish: addresses, sizes, checksums, counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Download:
    """One address, with the file's size and checksum (``sha256:...`` or ``md5:...``).

    ``into`` is the folder under the data root. With ``unpack`` the archive is unpacked there and removed;
    otherwise the file itself is kept there under ``name``.
    """

    url: str
    name: str
    bytes: int | None
    checksum: str
    into: str = ""
    unpack: Literal["tar", "zip"] | None = None


@dataclass(frozen=True)
class Stored:
    """One file under the data root that must be there, with the versions that are accepted.

    A version is (bytes, checksum), either of them None where nobody publishes it. With ``inside_gzip`` the
    version describes the unpacked contents, since equal contents may be compressed in different ways.
    """

    path: str
    versions: tuple[tuple[int | None, str | None], ...]
    inside_gzip: bool = False


@dataclass(frozen=True)
class Published:
    """All that is known of one data set's files: ``folder`` under the root, and what must lie there.

    ``counts`` are (pattern, number of files) for sets of many files. Where the owners ask for registration,
    ``by_hand`` says what the user must do and ``archives`` are the files that must then be there.
    """

    folder: str
    downloads: tuple[Download, ...] = ()
    files: tuple[Stored, ...] = ()
    counts: tuple[tuple[str, int], ...] = ()
    by_hand: str = ""
    archives: tuple[Stored, ...] = ()
