"""CIFAR-10, from its binary version."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from .access.assemble import as_images, checked_labels, image_splits
from .files.cifar_binary import read_records

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch import Tensor

    from .access.record import DataSplits

FOLDER = "cifar-10-batches-bin"
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
#: the constants of the released code, not the data's own statistics
CONSTANTS = ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010))
_BATCH = 10_000


def load(
    root: Path, seed: int, *, validation: float = 0.1, limit: int | None = None, augment: bool = True
) -> DataSplits:
    """Read 50 000 training and 10 000 test images (3, 32, 32); shifts of up to 4 pixels, and flips."""
    train = _read(root, [f"data_batch_{k}.bin" for k in range(1, 6)])
    test = _read(root, ["test_batch.bin"])
    return image_splits(
        "cifar10",
        train,
        test,
        CLASSES,
        CONSTANTS,
        seed=seed,
        validation=validation,
        limit=limit,
        augment=augment,
    )


def _read(root: Path, names: Sequence[str]) -> tuple[Tensor, Tensor]:
    parts = [read_records(root / FOLDER / name, _BATCH, 1, "cifar10") for name in names]
    labels = [
        checked_labels(torch.from_numpy(labels.copy()), len(CLASSES), str(root / FOLDER / name))
        for name, (_, labels) in zip(names, parts, strict=True)
    ]
    return as_images(np.concatenate([images for images, _ in parts])), torch.cat(labels)
