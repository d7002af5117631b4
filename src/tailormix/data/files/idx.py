"""The IDX format: a big-endian header of magic number and axis lengths, then bytes."""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from typing import TYPE_CHECKING

import numpy as np

from .errors import damaged, missing

if TYPE_CHECKING:
    from pathlib import Path

_UINT8 = 0x08


def read_idx(
    path: Path, shape: tuple[int, ...], name: str
) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """Read a gzip-compressed IDX file of bytes whose axes are exactly ``shape``."""
    expected = f"an IDX file of bytes of shape {shape}"
    if not path.is_file():
        raise missing(path, expected, name)
    try:
        contents = gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise damaged(path, expected, f"an unreadable file ({error})", name) from error
    header = struct.pack(f">{1 + len(shape)}i", _UINT8 << 8 | len(shape), *shape)
    if not contents.startswith(header):
        raise damaged(path, expected, f"header {contents[: len(header)].hex()}", name)
    if len(contents) != len(header) + math.prod(shape):
        raise damaged(path, expected, f"{len(contents) - len(header)} bytes after the header", name)
    return np.frombuffer(contents, dtype=np.uint8, offset=len(header)).reshape(shape)
