"""Lay ImageNet-1k out as class folders, from the three archives that registered users fetch by hand."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import DataError
from .unpack import unpack

if TYPE_CHECKING:
    from collections.abc import Mapping

TRAIN, VAL, DEVKIT = "ILSVRC2012_img_train.tar", "ILSVRC2012_img_val.tar", "ILSVRC2012_devkit_t12.tar.gz"
_DEVKIT_DATA = "ILSVRC2012_devkit_t12/data"


def needed(folder: Path) -> list[str]:
    """Names of the archives that hold what is not yet laid out."""
    names = [] if (folder / "train").is_dir() else [TRAIN]
    return names if (folder / "val").is_dir() else [*names, VAL, DEVKIT]


def prepare(folder: Path) -> None:
    """Unpack the archives in ``folder`` into ``train/<wnid>/`` and ``val/<wnid>/``; what is there stays."""
    names = needed(folder)
    if TRAIN in names:
        _train(folder)
    if VAL in names:
        _validation(folder)


def _train(folder: Path) -> None:
    """Unpack the 1000 inner archives, each named by its wnid."""
    work = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=folder))
    try:
        unpack(folder / TRAIN, work, "tar")
        for inner in sorted(work.glob("*.tar")):
            target = work / "train" / inner.stem
            target.mkdir(parents=True)
            unpack(inner, target, "tar")
            inner.unlink()
        (work / "train").replace(folder / "train")
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _validation(folder: Path) -> None:
    """Sort the flat images into class folders, by the ground truth of the development kit."""
    work = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=folder))
    try:
        with tarfile.open(folder / DEVKIT) as kit:
            for name in ("meta.mat", "ILSVRC2012_validation_ground_truth.txt"):
                opened = kit.extractfile(f"{_DEVKIT_DATA}/{name}")
                (work / name).write_bytes(opened.read() if opened else b"")
        names = wnids(work / "meta.mat")
        truth = [int(line) for line in (work / "ILSVRC2012_validation_ground_truth.txt").read_text().split()]
        unpack(folder / VAL, _child(work, "flat"), "tar")
        images = sorted((work / "flat").rglob("*.JPEG"))
        if len(images) != len(truth):
            raise DataError(f"wrong file {folder / VAL}: expected {len(truth)} images, got {len(images)}")
        for image, label in zip(images, truth, strict=True):
            image.replace(_child(work, "val", names[label]) / image.name)
        (work / "val").replace(folder / "val")
    except (KeyError, tarfile.TarError) as error:
        raise DataError(
            f"wrong file {folder / DEVKIT}: expected the 2012 development kit, got {error}"
        ) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def wnids(meta: Path) -> Mapping[int, str]:
    """Return the wnid of each of the kit's class numbers (1-based); synsets with children are no classes."""
    from scipy.io import loadmat

    synsets = loadmat(meta, squeeze_me=True, struct_as_record=False)["synsets"]
    return {int(s.ILSVRC2012_ID): str(s.WNID) for s in synsets if int(s.num_children) == 0}


def _child(folder: Path, *parts: str) -> Path:
    """Make and return a folder below ``folder``."""
    child = folder.joinpath(*parts)
    child.mkdir(parents=True, exist_ok=True)
    return child
