"""ImageNet-1k in class folders, streamed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .access.class_folders import class_files, file_splits, subfolders
from .files.errors import damaged, missing

if TYPE_CHECKING:
    from pathlib import Path

    from .access.class_folders import Files
    from .access.record import DataSplits

FOLDER, NUM_CLASSES, TRAIN_IMAGES, TEST_IMAGES = "imagenet", 1000, 1_281_167, 50_000


def load(
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
