"""Tiny-ImageNet: 200 classes of 64 x 64 photographs, decoded once into memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from .access.assemble import image_splits
from .access.class_folders import IMAGENET
from .access.decode import read_all
from .files.errors import damaged, missing

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

    from .access.record import DataSplits

FOLDER, NUM_CLASSES, TRAIN_IMAGES, TEST_IMAGES, SIZE = "tiny-imagenet-200", 200, 500, 50, 64


def load(
    root: Path,
    seed: int,
    *,
    validation: float = 0.1,
    limit: int | None = None,
    augment: bool = True,
    slice: str | None = None,  # noqa: A002 - the option's name on the command line
) -> DataSplits:
    """Read the training images, and the owners' labelled ``val`` folder as test; shifts and flips.

    Classes are numbered in the order of ``wnids.txt``. ``slice`` names another folder of the same layout that
    holds some of the classes: good for trying, not for results.
    """
    folder = root / (slice or FOLDER)
    wnids = _lines(folder / "wnids.txt")
    if not slice and len(wnids) != NUM_CLASSES:
        raise damaged(folder / "wnids.txt", f"{NUM_CLASSES} lines", str(len(wnids)), "tiny-imagenet")
    train, test = _train(folder, wnids), _test(folder, wnids)
    name = f"tiny-imagenet ({slice})" if slice else "tiny-imagenet"
    return image_splits(
        name, train, test, wnids, IMAGENET, seed=seed, validation=validation, limit=limit, augment=augment
    )


def _train(folder: Path, wnids: list[str]) -> tuple[Tensor, Tensor]:
    paths = []
    for wnid in wnids:
        images = folder / "train" / wnid / "images"
        found = [str(images / f"{wnid}_{k}.JPEG") for k in range(TRAIN_IMAGES)]
        if (got := len(list(images.glob("*.JPEG")))) != TRAIN_IMAGES:
            raise damaged(images, f"{TRAIN_IMAGES} images", str(got), "tiny-imagenet")
        paths += found
    return read_all(paths, SIZE), torch.arange(len(wnids)).repeat_interleave(TRAIN_IMAGES)


def _test(folder: Path, wnids: list[str]) -> tuple[Tensor, Tensor]:
    annotations = folder / "val" / "val_annotations.txt"
    numbers = {wnid: number for number, wnid in enumerate(wnids)}
    paths, labels = [], []
    for line in _lines(annotations):
        file, wnid = [*line.split("\t"), ""][:2]
        if wnid not in numbers:
            raise damaged(annotations, "classes of wnids.txt", repr(wnid), "tiny-imagenet")
        paths.append(str(folder / "val" / "images" / file))
        labels.append(numbers[wnid])
    if len(paths) != TEST_IMAGES * len(wnids):
        raise damaged(annotations, f"{TEST_IMAGES * len(wnids)} lines", str(len(paths)), "tiny-imagenet")
    return read_all(paths, SIZE), torch.tensor(labels)


def _lines(path: Path) -> list[str]:
    if not path.is_file():
        raise missing(path, "a list of the data set's layout", "tiny-imagenet")
    return path.read_text().splitlines()
