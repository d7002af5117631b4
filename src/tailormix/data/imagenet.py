"""ImageNet-1k: its archives and lists, and its splits."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tailormix.data.files.archives import unpack
from tailormix.data.files.location import DataError, damaged, missing
from tailormix.data.streaming import class_files, file_splits, subfolders

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tailormix.data.splits import DataSplits
    from tailormix.data.streaming import Files


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


FOLDER, NUM_CLASSES, TRAIN_IMAGES, TEST_IMAGES = "imagenet", 1000, 1_281_167, 50_000


def load_imagenet(
    root: Path,
    seed: int,
    *,
    validation: float = 0.04,
    limit: int | None = None,
    augment: bool = True,
    image_size: int = 224,
    slice: str | None = None,  # noqa: A002 - the option's name on the command line
) -> DataSplits:
    """Read ``train/<wnid>/`` and, as test, the owners' labelled ``val/<wnid>/``.

    Random resized crops and flips; for evaluation the central crop. Classes are numbered in the order of
    their wnids. ``slice`` names another folder of the same layout with some of the classes or images.
    """
    folder = root / (slice or FOLDER)
    classes = _classes(folder / "train", None if slice else NUM_CLASSES)
    train = _files(folder / "train", classes, None if slice else TRAIN_IMAGES)
    test = _files(folder / "val", classes, None if slice else TEST_IMAGES)
    return file_splits(
        f"imagenet ({slice})" if slice else "imagenet",
        train,
        test,
        classes,
        image_size,
        seed=seed,
        validation=validation,
        limit=limit,
        augment=augment,
    )


def _classes(folder: Path, expected: int | None) -> list[str]:
    if not folder.is_dir():
        raise missing(folder, "a folder of class folders named by wnid", "imagenet")
    classes = subfolders(folder)
    if expected is not None and len(classes) != expected:
        raise damaged(folder, f"{expected} class folders", str(len(classes)), "imagenet")
    return classes


def _files(folder: Path, classes: list[str], expected: int | None) -> Files:
    if not folder.is_dir() or (absent := [name for name in classes if not (folder / name).is_dir()]):
        raise missing(folder / (absent[0] if folder.is_dir() else ""), "a class folder", "imagenet")
    files = class_files(folder, classes)
    if expected is not None and len(files[0]) != expected:
        raise damaged(folder, f"{expected} images", str(len(files[0])), "imagenet")
    return files
