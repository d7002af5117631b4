"""Archives that would do harm, and those that are not whole."""

import io
import os
import shutil
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from tailormix.data import DataError
from tailormix.data.files.archives import unpack


def listed(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def tarred(path: Path, members: list[tuple[tarfile.TarInfo, bytes]]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for info, data in members:
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def tar_link(name: str, target: str, kind: bytes) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info, b""


@pytest.mark.parametrize("name", ["../evil", "/tmp/evil", "a/../../evil", "..\\evil", "C:/evil"])
@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_archives_cannot_write_outside(tmp_path: Path, name: str, kind: str) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    archive = tmp_path / f"a.{kind}"
    if kind == "tar":
        tarred(archive, [(tarfile.TarInfo("data/good"), b"good"), (tarfile.TarInfo(name), b"evil")])
    else:
        with zipfile.ZipFile(archive, "w") as bundle:
            bundle.writestr("data/good", b"good")
            bundle.writestr(name, b"evil")
    with pytest.raises(DataError, match=r"wrong file .*: it would write outside the folder"):
        unpack(archive, inner)
    assert listed(tmp_path) == [archive.name, "inner"]
    assert listed(inner) == []


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_tar_links_are_refused(tmp_path: Path, kind: bytes) -> None:
    archive = tarred(tmp_path / "a.tar", [tar_link("data/link", "/etc/passwd", kind)])
    with pytest.raises(DataError, match=r"it holds a link or a device: 'data/link'"):
        unpack(archive, tmp_path)


def test_zip_links_are_refused(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("data/link")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as bundle:
        bundle.writestr(info, "/etc/passwd")
    with pytest.raises(DataError, match=r"it holds a link or a device: 'data/link'"):
        unpack(tmp_path / "a.zip", tmp_path)


@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_truncated_archives_leave_nothing(tmp_path: Path, kind: str) -> None:
    source = tmp_path / "data"
    source.mkdir()
    (source / "noise").write_bytes(os.urandom(100_000))
    packed = Path(
        shutil.make_archive(str(tmp_path / "a"), "gztar" if kind == "tar" else "zip", tmp_path, "data")
    )
    shutil.rmtree(source)
    packed.write_bytes(packed.read_bytes()[:50_000])
    with pytest.raises(DataError, match=rf"wrong file .*: expected a whole {kind} archive"):
        unpack(packed, tmp_path)
    assert listed(tmp_path) == [packed.name]


def test_disk_filling_up_while_unpacking_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    archive = tarred(tmp_path / "a.tar", [(tarfile.TarInfo("data/one.bin"), b"x")])
    monkeypatch.setattr("tailormix.data.files.archives.shutil.copyfileobj", full)
    with pytest.raises(DataError, match=r"could not unpack .*a\.tar into .*No space left on device"):
        unpack(archive, tmp_path)
    assert listed(tmp_path) == ["a.tar"]
