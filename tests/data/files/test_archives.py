"""Archives that would do harm, and those that are not whole."""

import contextlib
import io
import os
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailormix.data import DataError
from tailormix.data.files.archives import unpack

LINK = "/etc/passwd"


def tarred(path: Path, *members: tarfile.TarInfo | str, data: bytes = b"x") -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for member in members:
            info = tarfile.TarInfo(member) if isinstance(member, str) else member
            info.size = 0 if info.linkname else len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def zipped(path: Path, *members: zipfile.ZipInfo | str, data: bytes = b"x") -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for member in members:
            archive.writestr(member, data)
    return path


def deflated(path: Path, name: str, *more: str, data: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member in (name, *more):
            archive.writestr(member, data)
    return path


def refused(archive: Path, message: str) -> None:
    """Unpacking raises, and leaves nothing but the archive."""
    with pytest.raises(DataError, match=message):
        unpack(archive, archive.parent)
    assert list(archive.parent.iterdir()) == [archive]


@pytest.mark.parametrize("name", ["../evil", "/tmp/evil", "a/../../evil", "..\\evil", "C:/evil"])
@pytest.mark.parametrize(("kind", "pack"), [("tar", tarred), ("zip", zipped)])
def test_archives_cannot_write_outside(tmp_path: Path, name: str, kind: str, pack) -> None:
    (tmp_path / "inner").mkdir()
    archive = pack(tmp_path / "inner" / f"a.{kind}", "data/good", name)
    refused(archive, "wrong file .*it would write outside the folder")
    assert [path.name for path in tmp_path.iterdir()] == ["inner"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, "zip"])
def test_links_and_devices_are_refused(tmp_path: Path, kind: bytes | str) -> None:
    if kind == "zip":
        info = zipfile.ZipInfo("data/link")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive = zipped(tmp_path / "a.zip", info, data=LINK.encode())
    else:
        info = tarfile.TarInfo("data/link")
        info.type, info.linkname = kind, LINK
        archive = tarred(tmp_path / "a.tar", info)
    refused(archive, r"it holds a link or a device: 'data/link'")


@pytest.mark.parametrize(("kind", "pack"), [("tar", tarred), ("zip", zipped)])
def test_truncated_archives_leave_nothing(tmp_path: Path, kind: str, pack) -> None:
    packed = pack(tmp_path / f"a.{kind}", "data/noise", data=os.urandom(100_000))
    packed.write_bytes(packed.read_bytes()[:50_000])
    refused(packed, rf"wrong file .*: expected a whole {kind} archive")


@pytest.mark.parametrize(("kind", "pack"), [("tar", tarred), ("zip", deflated)])
def test_archives_that_unpack_to_far_too_much_are_refused(tmp_path: Path, kind: str, pack) -> None:
    """70 MB of zeros in 70 kB: more than four times its size, and than 64 MB."""
    archive = pack(tmp_path / f"a.{kind}", "data/zeros", data=bytes(70 << 20))
    assert archive.stat().st_size < 1 << 20
    refused(archive, "expected a data set, got too much to unpack at 'data/zeros'")


def test_encrypted_archives_are_refused(tmp_path: Path) -> None:
    """The flag of encryption, in the header of the file and in the directory."""
    archive = zipped(tmp_path / "a.zip", "data/secret", data=b"x" * 40)
    contents = bytearray(archive.read_bytes())
    contents[6] |= 1
    contents[contents.index(b"PK\x01\x02") + 8] |= 1
    archive.write_bytes(contents)
    refused(archive, "it is encrypted: 'data/secret'")


@pytest.mark.parametrize(("kind", "pack"), [("tar", tarred), ("zip", deflated)])
@given(place=st.floats(0, 1, exclude_max=True), value=st.integers(0, 255))
def test_a_damaged_byte_is_no_crash(tmp_path_factory, kind: str, pack, place: float, value: int) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    archive = pack(folder / f"a.{kind}", "data/one", "data/two", data=b"abc" * 50)
    contents = bytearray(archive.read_bytes())
    contents[int(place * len(contents))] = value
    archive.write_bytes(contents)
    with contextlib.suppress(DataError):
        unpack(archive, folder)


def test_disk_filling_up_while_unpacking_leaves_nothing(tmp_path: Path, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copyfileobj", full)
    archive = tarred(tmp_path / "a.tar", "data/one.bin")
    refused(archive, r"could not unpack .*a\.tar into .*No space left on device")
