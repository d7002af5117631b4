"""Read arrays from .npz, .npy and text files without trusting them: no objects, and nothing too large."""

from __future__ import annotations

import gzip
import math
import os
import zipfile
import zlib
from functools import partial
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.lib import format as npy

from tailormix.data.files.archives import ENCRYPTED
from tailormix.data.files.location import DataError, check_file, damaged, missing, unusable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    Array = np.ndarray[tuple[int, ...], np.dtype[Any]]

#: what numpy and zipfile raise on damaged and encrypted files
_BROKEN = (OSError, ValueError, EOFError, SyntaxError, RuntimeError, zipfile.BadZipFile, zlib.error)


def names_in_npz(path: Path) -> list[str]:
    """The names of the arrays in an .npz file."""
    check_file(path, "an .npz file of plain arrays")
    try:
        with zipfile.ZipFile(path) as bundle:
            return [name.removesuffix(".npy") for name in bundle.namelist()]
    except _BROKEN as error:
        raise unusable(path, "an .npz file of plain arrays", str(error) or type(error).__name__) from error


def read_npz(path: Path, names: Sequence[str]) -> list[Array]:
    """The arrays of these names in an .npz file; others in it are not touched."""
    check_file(path, "an .npz file of plain arrays")
    try:
        with zipfile.ZipFile(path) as bundle:
            held = [name.removesuffix(".npy") for name in bundle.namelist()]
            for name in names:
                if name not in held:
                    found = ", ".join(held) or "no arrays"
                    raise unusable(path, f"arrays named {' and '.join(names)}", found)
            members = [bundle.getinfo(f"{name}.npy") for name in names]
            if any(member.flag_bits & ENCRYPTED for member in members):
                raise unusable(path, "an .npz file of plain arrays", "an encrypted one")
            _check_memory(path, sum(member.file_size for member in members))
            return [_read(path, partial(bundle.open, member), member.file_size) for member in members]
    except DataError:
        raise
    except (*_BROKEN, KeyError) as error:
        raise unusable(path, "an .npz file of plain arrays", str(error) or type(error).__name__) from error


def read_npy(path: Path) -> Array:
    """The array in an .npy file."""
    check_file(path, "an .npy file of a plain array")
    size = path.stat().st_size
    try:
        _check_memory(path, size)
        return _read(path, lambda: path.open("rb"), size)
    except DataError:
        raise
    except _BROKEN as error:
        raise unusable(path, "an .npy file of a plain array", str(error) or type(error).__name__) from error


def read_numbers(path: Path, delimiter: str, rows: int, columns: int | None, name: str) -> Array:
    """Read exactly ``rows`` x ``columns`` finite numbers; ``columns=None`` accepts any number of them."""
    expected = f"{rows} rows of {'equally many' if columns is None else columns} numbers"
    if not path.is_file():
        raise missing(path, expected, name)
    try:
        with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
            table = np.loadtxt(lines, delimiter=delimiter, ndmin=2, max_rows=rows + 1)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise damaged(path, expected, f"an unreadable file ({error})", name) from error
    if len(table) != rows or (columns is not None and table.shape[1] != columns):
        more = "or more " if len(table) > rows else ""
        raise damaged(path, expected, f"{table.shape[0]} {more}rows of {table.shape[1]}", name)
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise damaged(path, expected, f"{table[row, column]} in row {row}, column {column}", name)
    return table


def _read(path: Path, opened: Callable[[], IO[bytes]], size: int) -> Array:
    """Read one array of ``size`` bytes with its header, if that is the size that the header tells of."""
    with opened() as file:
        version = npy.read_magic(file)
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, dtype = read_header(file)
        told = file.tell() + math.prod(shape) * dtype.itemsize
    if dtype.hasobject:
        raise unusable(path, "plain arrays", "an array of Python objects")
    if told != size:
        raise unusable(path, f"{told:,} bytes for an array of shape {shape}", f"{size:,} bytes")
    with opened() as file:
        array: Array = npy.read_array(file, allow_pickle=False)
    return array


def _check_memory(path: Path, size: int) -> None:
    """Refuse what would not fit, with the copies that splitting and scaling make, however small the file."""
    half = memory() // 2
    if size > half:
        raise unusable(path, f"at most {half:,} bytes, half of the memory", f"{size:,} bytes unpacked")


def memory() -> int:
    """Bytes of memory that the machine has; where that is unknown, more than any has."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 1 << 62
