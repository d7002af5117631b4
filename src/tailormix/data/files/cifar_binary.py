"""The binary version of CIFAR: records of label bytes and 3072 pixel bytes, no pickle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .errors import damaged, missing

if TYPE_CHECKING:
    from pathlib import Path

    Bytes = np.ndarray[tuple[int, ...], np.dtype[np.uint8]]

_PIXELS = 3 * 32 * 32


def read_records(path: Path, records: int, label_bytes: int, name: str) -> tuple[Bytes, Bytes]:
    """Return images (n, 3, 32, 32) and the last label byte of each record (n,): CIFAR-100's fine class."""
    size = records * (label_bytes + _PIXELS)
    expected = f"{size} bytes: {records} records of {label_bytes} + {_PIXELS}"
    if not path.is_file():
        raise missing(path, expected, name)
    if (got := path.stat().st_size) != size:
        raise damaged(path, expected, f"{got} bytes", name)
    table = np.fromfile(path, dtype=np.uint8).reshape(records, label_bytes + _PIXELS)
    return table[:, label_bytes:].reshape(-1, 3, 32, 32), table[:, label_bytes - 1]
