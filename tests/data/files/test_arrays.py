"""Arrays from files that cannot be trusted."""

import zipfile
from pathlib import Path

import numpy as np
import pytest

from tailormix.data import DataError
from tailormix.data.files import arrays
from tailormix.data.files.arrays import read_npy, read_npz


def saved(tmp_path: Path) -> Path:
    np.savez_compressed(tmp_path / "user.npz", x=np.zeros((1000, 100)), y=np.arange(3, dtype=np.uint16))
    return tmp_path / "user.npz"


def test_arrays_come_back(tmp_path: Path) -> None:
    x, y = read_npz(saved(tmp_path), ["x", "y"])
    assert (x.shape, y.dtype, y.tolist()) == ((1000, 100), np.uint16, [0, 1, 2])
    np.save(tmp_path / "user.npy", y)
    assert read_npy(tmp_path / "user.npy").tolist() == [0, 1, 2]


@pytest.mark.parametrize("contents", [b"PK\x03\x04 broken", b"text", b"\x93NUMPY"])
def test_foreign_files(tmp_path: Path, contents: bytes) -> None:
    for read, name in ((lambda path: read_npz(path, ["x"]), "user.npz"), (read_npy, "user.npy")):
        (tmp_path / name).write_bytes(contents)
        with pytest.raises(DataError, match=rf"cannot use .*{name}: expected an \.np. file of"):
            read(tmp_path / name)


def test_files_that_are_not_there_or_empty(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="got no such file"):
        read_npz(tmp_path / "user.npz", ["x"])
    with pytest.raises(DataError, match="got a folder"):
        read_npz(tmp_path, ["x"])
    (tmp_path / "user.npz").touch()
    with pytest.raises(DataError, match="got an empty file"):
        read_npz(tmp_path / "user.npz", ["x"])


def test_arrays_that_are_not_named_or_plain(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="expected arrays named x and z, got x, y"):
        read_npz(saved(tmp_path), ["x", "z"])
    np.savez(tmp_path / "objects.npz", x=np.array([object()]))
    with pytest.raises(DataError, match="expected plain arrays, got an array of Python objects"):
        read_npz(tmp_path / "objects.npz", ["x"])


def test_bombs_are_refused_before_they_are_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """800 128 bytes in a file of a few: too much for a machine of 1 MB."""
    path = saved(tmp_path)
    assert path.stat().st_size < 5000
    monkeypatch.setattr(arrays, "memory", lambda: 1_000_000)
    with pytest.raises(DataError, match="expected at most 500,000 bytes, half of the memory, got 800,"):
        read_npz(path, ["x", "y"])
    assert len(read_npz(path, ["y"])[0]) == 3


def test_headers_that_promise_more_than_the_file_holds(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((10, 10)))
    with zipfile.ZipFile(tmp_path / "user.npz", "w") as bundle:
        bundle.writestr("x.npy", (tmp_path / "x.npy").read_bytes().replace(b"(10, 10)", b"(10, 99)"))
    told = (
        r"expected 8,048 bytes for an array of shape \(10, 99\), got 928 bytes"  # 128 of them are the header
    )
    with pytest.raises(DataError, match=told):
        read_npz(tmp_path / "user.npz", ["x"])


def test_encrypted_arrays(tmp_path: Path) -> None:
    path = saved(tmp_path)
    contents = bytearray(path.read_bytes())
    start = contents.index(b"PK\x01\x02")
    contents[start + 8] |= 1
    path.write_bytes(contents)
    with pytest.raises(DataError, match="got an encrypted one"):
        read_npz(path, ["x"])
