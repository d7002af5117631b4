"""Unpack archives without trusting them: nothing is written outside the folder, nothing is linked.

Those of ImageNet become class folders.
"""

from __future__ import annotations

import lzma
import shutil
import stat
import struct
import tarfile
import tempfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING

from tailormix.data.files.location import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

#: what damaged, encrypted and foreign files make tarfile, zipfile and the decompressors raise
BROKEN = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    ValueError,
    LookupError,
    ArithmeticError,
    RuntimeError,
)
#: the bit of a zip entry's flags
ENCRYPTED = 1
TRAIN, VAL, DEVKIT = "ILSVRC2012_img_train.tar", "ILSVRC2012_img_val.tar", "ILSVRC2012_devkit_t12.tar.gz"
#: data sets are images and numbers, which hardly compress: what unpacks to much more is no data set
_GROWTH, _SMALL = 4, 64 << 20


def unpack(archive: Path, into: Path) -> list[Path]:
    """Unpack a ``.zip`` or (compressed) tar archive and return the top-level entries that it made.

    An archive that would unpack to more than four times its size (or 64 MB) is refused. Everything is written
    into a temporary folder first and then renamed, so that an interruption leaves nothing half-unpacked under
    its final name. An entry that exists already is replaced.
    """
    kind = "zip" if archive.suffix == ".zip" else "tar"
    try:
        room = max(_GROWTH * archive.stat().st_size, _SMALL)
        with tempfile.TemporaryDirectory(prefix=".unpacking-", dir=into, ignore_cleanup_errors=True) as work:
            for name, size, source in _zip_files(archive) if kind == "zip" else _tar_files(archive):
                room -= size + tarfile.BLOCKSIZE
                if room < 0:
                    raise DataError(
                        f"wrong file {archive}: expected a data set, got too much to unpack at {name!r}"
                    )
                target = Path(work) / safe_path(name, archive)
                target.parent.mkdir(parents=True, exist_ok=True)
                with source, target.open("wb") as file:
                    shutil.copyfileobj(source, file, 1 << 20)
            return [_move(entry, into / entry.name) for entry in sorted(Path(work).iterdir())]
    except DataError:
        raise
    except BROKEN as error:
        raise DataError(f"wrong file {archive}: expected a whole {kind} archive, got: {error}") from error
    except OSError as error:
        raise DataError(f"could not unpack {archive} into {into}: {error}") from error


def safe_path(name: str, archive: Path) -> PurePosixPath:
    """Return the path of an archive's member if it stays inside the folder.

    >>> safe_path("../../etc/passwd", Path("a.tar"))
    Traceback (most recent call last):
    tailormix.data.files.location.DataError: wrong file a.tar: ... outside the folder: '../../etc/passwd'
    """
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or not path.parts or ":" in path.parts[0]:
        raise DataError(f"wrong file {archive}: it would write outside the folder: {name!r}")
    return path


def _tar_files(archive: Path) -> Iterator[tuple[str, int, IO[bytes]]]:
    """Name, size and contents of each regular file; links and devices are refused."""
    with tarfile.open(archive) as tar:
        for entry in tar:
            if entry.isdir():
                continue
            source = tar.extractfile(entry) if entry.isreg() else None
            if source is None:
                raise DataError(f"wrong file {archive}: it holds a link or a device: {entry.name!r}")
            yield entry.name, entry.size, source


def _zip_files(archive: Path) -> Iterator[tuple[str, int, IO[bytes]]]:
    with zipfile.ZipFile(archive) as bundle:
        for entry in bundle.infolist():
            if entry.is_dir():
                continue
            if stat.S_ISLNK(entry.external_attr >> 16):
                raise DataError(f"wrong file {archive}: it holds a link or a device: {entry.filename!r}")
            if entry.flag_bits & ENCRYPTED:
                raise DataError(f"wrong file {archive}: it is encrypted: {entry.filename!r}")
            yield entry.filename, entry.file_size, bundle.open(entry)


def _move(entry: Path, target: Path) -> Path:
    if target.is_dir() and entry.is_dir():
        shutil.rmtree(target)
    return entry.replace(target)


def needed_imagenet_archives(folder: Path) -> list[str]:
    """Names of the archives that hold what is not yet unpacked."""
    names = [] if (folder / "train").is_dir() else [TRAIN]
    return names if (folder / "val").is_dir() else [*names, VAL, DEVKIT]


def prepare_imagenet(folder: Path) -> None:
    """Unpack the archives in ``folder`` into ``train/<wnid>/`` and ``val/<wnid>/``; what is there stays."""
    needed = needed_imagenet_archives(folder)
    if TRAIN in needed:
        _unpack_train(folder)
    if VAL in needed:
        _unpack_validation(folder)


def _unpack_train(folder: Path) -> None:
    """Unpack the 1000 inner archives, each named by its wnid."""
    with tempfile.TemporaryDirectory(prefix=".unpacking-", dir=folder, ignore_cleanup_errors=True) as name:
        work = Path(name)
        unpack(folder / TRAIN, work)
        for inner in sorted(work.glob("*.tar")):
            target = work / "train" / inner.stem
            target.mkdir(parents=True)
            unpack(inner, target)
            inner.unlink()
        (work / "train").replace(folder / "train")


def _unpack_validation(folder: Path) -> None:
    """Sort the flat images into class folders, by the ground truth of the development kit."""
    wnids, labels = read_devkit(folder / DEVKIT)
    with tempfile.TemporaryDirectory(prefix=".unpacking-", dir=folder, ignore_cleanup_errors=True) as name:
        flat, sorted_images = Path(name, "flat"), Path(name, "val")
        flat.mkdir()
        unpack(folder / VAL, flat)
        images = sorted(flat.rglob("*.JPEG"))
        if len(images) != len(labels):
            raise DataError(f"wrong file {folder / VAL}: expected {len(labels)} images, got {len(images)}")
        for wnid in wnids.values():
            (sorted_images / wnid).mkdir(parents=True)
        for image, label in zip(images, labels, strict=True):
            image.replace(sorted_images / wnids[label] / image.name)
        sorted_images.replace(folder / "val")


def read_devkit(path: Path) -> tuple[Mapping[int, str], list[int]]:
    """The wnid of each class number (from 1) of the kit, and the class number of each validation image."""
    from scipy.io import loadmat

    data = "ILSVRC2012_devkit_t12/data"
    try:
        with tarfile.open(path) as kit:
            synsets = loadmat(kit.extractfile(f"{data}/meta.mat"), squeeze_me=True, struct_as_record=False)
            truth = kit.extractfile(f"{data}/ILSVRC2012_validation_ground_truth.txt")
            labels = [int(line) for line in (truth.read() if truth else b"").split()]
        # synsets with children are no classes
        wnids = {int(s.ILSVRC2012_ID): str(s.WNID) for s in synsets["synsets"] if int(s.num_children) == 0}
    except (OSError, AttributeError, TypeError, *BROKEN) as error:
        raise DataError(f"wrong file {path}: expected the 2012 development kit, got {error}") from error
    unknown = set(labels) - set(wnids)
    if unknown:
        raise DataError(f"wrong file {path}: expected class numbers of meta.mat, got {sorted(unknown)[:5]}")
    return wnids, labels
