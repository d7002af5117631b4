"""Downloads from a local server, archives that mean harm, disks that are full, files that are wrong."""

import hashlib
import io
import os
import shutil
import stat
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from tailormix.data import DataError
from tailormix.data.files import download as get_module
from tailormix.data.files.archives import unpack
from tailormix.data.files.download import fetch, get
from tailormix.data.files.location import writable
from tailormix.data.files.published import Download, Published, Stored
from tailormix.data.files.verify import MANIFEST, state, verify

BODY = bytes(range(256)) * 20_000  # five chunks and a bit


class Server(BaseHTTPRequestHandler):
    """Serves BODY with ranges; a path says how it misbehaves."""

    ranges: ClassVar[list[str | None]] = []

    def do_GET(self) -> None:
        asked = self.headers.get("Range")
        self.ranges.append(asked)
        if self.path == "/gone":
            self.send_error(404)
            return
        start = (
            int(asked.removeprefix("bytes=").removesuffix("-")) if asked and self.path != "/norange" else 0
        )
        if start >= len(BODY):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(BODY) - start))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(BODY) - 1}/{len(BODY)}")
        self.end_headers()
        cut = 3_000_000 if self.path == "/breaks" and not start else len(BODY)
        self.wfile.write(BODY[start:cut])

    def log_message(self, *arguments: object) -> None:
        """Stay quiet."""


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    Server.ranges.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def listed(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def offered(url: str, **changes: object) -> Download:
    settings: dict[str, object] = {
        "url": url,
        "name": "body.bin",
        "bytes": len(BODY),
        "checksum": f"sha256:{hashlib.sha256(BODY).hexdigest()}",
        "into": "made",
    }
    return Download(**(settings | changes))


def test_download_tells_its_progress(address: str, tmp_path: Path) -> None:
    told: list[tuple[int, int | None]] = []
    path = fetch(offered(f"{address}/x"), tmp_path, "made", lambda done, total: told.append((done, total)))
    assert path.read_bytes() == BODY
    assert told[-1] == (len(BODY), len(BODY))
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert listed(tmp_path) == ["body.bin"]


def test_download_goes_on_where_it_stopped(address: str, tmp_path: Path) -> None:
    download = offered(f"{address}/breaks")
    with pytest.raises(
        DataError, match=r"could not download .*; to go on where it stopped: tailormix data get made"
    ):
        fetch(download, tmp_path, "made")
    arrived = (tmp_path / "body.bin.part").stat().st_size
    assert 0 < arrived <= 3_000_000
    assert fetch(download, tmp_path, "made").read_bytes() == BODY
    assert Server.ranges == [None, f"bytes={arrived}-"]
    assert listed(tmp_path) == ["body.bin"]


@pytest.mark.parametrize(
    ("path", "part", "size"),
    [("/norange", BODY[:100], len(BODY)), ("/x", BODY + b"more", len(BODY)), ("/x", BODY + b"more", None)],
)
def test_download_starts_afresh_where_it_must(
    address: str, tmp_path: Path, path: str, part: bytes, size: int | None
) -> None:
    (tmp_path / "body.bin.part").write_bytes(part)
    assert fetch(offered(f"{address}{path}", bytes=size), tmp_path, "made").read_bytes() == BODY


def test_complete_part_is_not_asked_for_again(address: str, tmp_path: Path) -> None:
    (tmp_path / "body.bin.part").write_bytes(BODY)
    assert fetch(offered(f"{address}/x"), tmp_path, "made").read_bytes() == BODY
    assert Server.ranges == []


def test_wrong_checksum_leaves_nothing(address: str, tmp_path: Path) -> None:
    wrong = offered(f"{address}/x", checksum="sha256:" + "0" * 64)
    with pytest.raises(
        DataError, match=r"wrong file from .*/x: expected sha256:000.*tailormix data get made"
    ):
        fetch(wrong, tmp_path, "made")
    assert listed(tmp_path) == []


def test_absent_address(address: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"could not download .*/gone: 404"):
        fetch(offered(f"{address}/gone"), tmp_path, "made")


def test_full_disk_is_noticed_before(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"not enough room in .* for body.bin: expected .* bytes free, got"):
        fetch(offered("http://127.0.0.1:9/never-asked", bytes=10**18), tmp_path, "made")


def test_disk_filling_up_keeps_what_arrived(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(done: int, total: int | None) -> None:
        if done > 2_000_000:
            raise OSError(28, "No space left on device")

    with pytest.raises(DataError, match=r"No space left on device; to go on where it stopped"):
        fetch(offered(f"{address}/x"), tmp_path, "made", full)
    assert fetch(offered(f"{address}/x"), tmp_path, "made").read_bytes() == BODY
    assert Server.ranges[1] is not None


def test_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        DataError, match=r"cannot write into .*file/data \(Not a directory\).*set TAILORMIX_DATA"
    ):
        writable(tmp_path / "file" / "data")


def test_read_only_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The administrator may write anywhere, so the system's refusal is played."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("tailormix.data.files.location.tempfile.TemporaryFile", refuse)
    with pytest.raises(
        DataError, match=r"cannot write into .* \(Read-only file system\); to mend it: set TAILORMIX_DATA"
    ):
        get("airfoil", tmp_path)
    assert listed(tmp_path) == []


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
        tarred(archive, [(tarfile.TarInfo("made/good"), b"good"), (tarfile.TarInfo(name), b"evil")])
    else:
        with zipfile.ZipFile(archive, "w") as bundle:
            bundle.writestr("made/good", b"good")
            bundle.writestr(name, b"evil")
    with pytest.raises(DataError, match=r"wrong file .*: it would write outside the folder"):
        unpack(archive, inner, kind)
    assert listed(tmp_path) == [archive.name, "inner"]
    assert listed(inner) == []


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_tar_links_are_refused(tmp_path: Path, kind: bytes) -> None:
    archive = tarred(tmp_path / "a.tar", [tar_link("made/link", "/etc/passwd", kind)])
    with pytest.raises(DataError, match=r"it holds a link or a device: 'made/link'"):
        unpack(archive, tmp_path, "tar")


def test_zip_links_are_refused(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("made/link")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as bundle:
        bundle.writestr(info, "/etc/passwd")
    with pytest.raises(DataError, match=r"it holds a link or a device: 'made/link'"):
        unpack(tmp_path / "a.zip", tmp_path, "zip")


@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_truncated_archives_leave_nothing(tmp_path: Path, kind: str) -> None:
    source = tmp_path / "made"
    source.mkdir()
    (source / "noise").write_bytes(os.urandom(100_000))
    packed = Path(
        shutil.make_archive(str(tmp_path / "a"), "gztar" if kind == "tar" else "zip", tmp_path, "made")
    )
    shutil.rmtree(source)
    packed.write_bytes(packed.read_bytes()[:50_000])
    with pytest.raises(DataError, match=rf"wrong file .*: expected a whole {kind} archive"):
        unpack(packed, tmp_path, kind)
    assert listed(tmp_path) == [packed.name]


def test_disk_filling_up_while_unpacking_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    archive = tarred(tmp_path / "a.tar", [(tarfile.TarInfo("made/one.bin"), b"x")])
    monkeypatch.setattr("tailormix.data.files.archives.shutil.copyfileobj", full)
    with pytest.raises(DataError, match=r"could not unpack .*a\.tar into .*No space left on device"):
        unpack(archive, tmp_path, "tar")
    assert listed(tmp_path) == ["a.tar"]


@pytest.fixture
def archived(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], bool]:
    """Publish an archive of one file of BODY, and return a function that gets it."""
    packed = tarred(tmp_path / "made.tar.gz", [(tarfile.TarInfo("made/one.bin"), BODY)])
    monkeypatch.setattr(f"{__name__}.BODY", packed.read_bytes())
    download = offered(f"{address}/x", bytes=len(BODY), checksum=f"sha256:{hashlib.sha256(BODY).hexdigest()}")
    download = Download(download.url, "made.tar.gz", download.bytes, download.checksum, unpack="tar")
    published = Published("made", (download,), (Stored("made/one.bin", ((20_000 * 256, None),)),))
    monkeypatch.setitem(get_module.PUBLISHED, "made", published)
    return partial(get, "made", tmp_path / "root")


def test_get_unpacks_verifies_and_does_not_repeat(archived: Callable[[], bool], tmp_path: Path) -> None:
    assert archived()
    assert listed(tmp_path / "root") == ["made"]
    assert listed(tmp_path / "root" / "made") == [MANIFEST, "one.bin"]
    assert not archived()
    assert len(Server.ranges) == 1


def test_get_mends_what_the_manifest_shows(archived: Callable[[], bool], tmp_path: Path) -> None:
    """A changed byte leaves the size as it is: only the recorded checksum finds it."""
    archived()
    path = tmp_path / "root" / "made" / "one.bin"
    whole = path.read_bytes()
    path.write_bytes(b"x" + whole[1:])
    published = get_module.PUBLISHED["made"]
    assert state(published, tmp_path / "root") == "present"
    (problem,) = verify("made", published, tmp_path / "root")
    assert "one.bin: expected 5120000 bytes and sha256:" in str(problem)
    assert archived()
    assert path.read_bytes() == whole


def test_state_says_what_is_there(archived: Callable[[], bool], tmp_path: Path) -> None:
    published, root = get_module.PUBLISHED["made"], tmp_path / "root"
    assert state(published, root) == "absent"
    (root / "made").mkdir(parents=True)
    assert state(published, root) == "absent"
    (root / "made" / "one.bin").write_bytes(b"short")
    assert state(published, root) == "incomplete"
    (problem,) = verify("made", published, root)
    assert str(problem).startswith(
        f"wrong file {root / 'made' / 'one.bin'}: expected 5120000 bytes, got 5 bytes"
    )
    archived()
    assert state(published, root) == "present"


def test_foreign_archive_is_refused(
    archived: Callable[[], bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = get_module.PUBLISHED["made"]
    monkeypatch.setitem(get_module.PUBLISHED, "made", Published("other", made.downloads, made.files))
    with pytest.raises(DataError, match=r"expected a folder other, got \['made'\]"):
        archived()
