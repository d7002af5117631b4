"""ImageNet-1k: its splits, and how its archives become class folders."""

from __future__ import annotations

import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from tailormix.data.files.archives import BROKEN, unpack
from tailormix.data.files.location import DataError, damaged, missing
from tailormix.data.preprocessing.images import photographs
from tailormix.data.splits import DataSplits, train_rows
from tailormix.data.streaming import class_files, file_split, subfolders

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tailormix.data.streaming import Files

TRAIN, VAL, DEVKIT = "ILSVRC2012_img_train.tar", "ILSVRC2012_img_val.tar", "ILSVRC2012_devkit_t12.tar.gz"
_CLASSES, _TRAIN_IMAGES, _TEST_IMAGES = 1000, 1_281_167, 50_000


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
    """Read ``train/<wnid>/`` and, as test, the labelled ``val/<wnid>/``.

    Random resized crops and flips; for evaluation the central crop. Classes are numbered in the order of
    their wnids. ``slice`` names another folder of the same layout with some of the classes or images.
    """
    folder = root / (slice or "imagenet")
    if not (folder / "train").is_dir():
        raise missing(folder / "train", "a folder of class folders named by wnid", "imagenet")
    classes = subfolders(folder / "train")
    if not slice and len(classes) != _CLASSES:
        raise damaged(folder / "train", f"{_CLASSES} class folders", str(len(classes)), "imagenet")
    train = _files(folder / "train", classes, None if slice else _TRAIN_IMAGES)
    test = _files(folder / "val", classes, None if slice else _TEST_IMAGES)
    kept, held = train_rows(train[1], seed, validation, limit)
    all_rows = torch.arange(len(test[1]))
    return DataSplits(
        f"imagenet ({slice})" if slice else "imagenet",
        "classification",
        train=file_split(train, kept, image_size, augment=augment),
        validation=file_split(train, held, image_size, augment=False),
        test=file_split(test, all_rows, image_size, augment=False, first_id=len(train[1])),
        outputs=len(classes),
        class_names=tuple(classes),
        preprocessing=photographs(image_size),
    )


def _files(folder: Path, classes: list[str], expected: int | None) -> Files:
    for name in classes:
        if not (folder / name).is_dir():
            raise missing(folder / name, "a class folder", "imagenet")
    files = class_files(folder, classes)
    if expected is not None and len(files[0]) != expected:
        raise damaged(folder, f"{expected} images", str(len(files[0])), "imagenet")
    return files


def needed_archives(folder: Path) -> list[str]:
    """Names of the archives that hold what is not yet unpacked."""
    names = [] if (folder / "train").is_dir() else [TRAIN]
    return names if (folder / "val").is_dir() else [*names, VAL, DEVKIT]


def prepare(folder: Path) -> None:
    """Unpack the archives in ``folder`` into ``train/<wnid>/`` and ``val/<wnid>/``; what is there stays."""
    needed = needed_archives(folder)
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
