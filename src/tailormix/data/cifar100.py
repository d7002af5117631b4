"""CIFAR-100, from its binary version, with the 100 fine classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from .access.assemble import as_images, checked_labels, image_splits
from .files.cifar_binary import read_records

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

    from .access.record import DataSplits

FOLDER = "cifar-100-binary"
NUM_CLASSES = 100
#: the constants of the released code
CONSTANTS = ((0.5071, 0.4867, 0.4408), (0.2675, 0.2565, 0.2761))


def load(
    root: Path, seed: int, *, validation: float = 0.1, limit: int | None = None, augment: bool = True
) -> DataSplits:
    """Read 50 000 training and 10 000 test images (3, 32, 32); shifts of up to 4 pixels, and flips."""
    train, test = _read(root / FOLDER / "train.bin", 50_000), _read(root / FOLDER / "test.bin", 10_000)
    return image_splits(
        "cifar100",
        train,
        test,
        class_names(root),
        CONSTANTS,
        seed=seed,
        validation=validation,
        limit=limit,
        augment=augment,
    )


def class_names(root: Path) -> tuple[str, ...]:
    """Names of the fine classes as the owners' list has them, or their numbers where the list is missing."""
    listed = root / FOLDER / "fine_label_names.txt"
    names = tuple(listed.read_text().split()) if listed.is_file() else ()
    return names if len(names) == NUM_CLASSES else tuple(map(str, range(NUM_CLASSES)))


def _read(path: Path, records: int) -> tuple[Tensor, Tensor]:
    images, labels = read_records(path, records, 2, "cifar100")
    return as_images(images), checked_labels(torch.from_numpy(labels.copy()), NUM_CLASSES, str(path))
