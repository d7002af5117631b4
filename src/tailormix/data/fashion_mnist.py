"""Fashion-MNIST, from its IDX files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from .access.assemble import as_images, checked_labels, image_splits
from .files.idx import read_idx

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

    from .access.record import DataSplits

FOLDER = "fashion-mnist"
CLASSES = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)
CONSTANTS = ((0.5,), (0.5,))


def load(
    root: Path, seed: int, *, validation: float = 0.1, limit: int | None = None, augment: bool = True
) -> DataSplits:
    """Read 60 000 training and 10 000 test images (1, 28, 28); shifts of up to 2 pixels, and flips."""
    train, test = _read(root, "train", 60_000), _read(root, "t10k", 10_000)
    return image_splits(
        "fashion-mnist",
        train,
        test,
        CLASSES,
        CONSTANTS,
        seed=seed,
        validation=validation,
        limit=limit,
        augment=augment,
        pad=2,
    )


def _read(root: Path, part: str, rows: int) -> tuple[Tensor, Tensor]:
    images = root / FOLDER / f"{part}-images-idx3-ubyte.gz"
    labels = root / FOLDER / f"{part}-labels-idx1-ubyte.gz"
    pixels = as_images(read_idx(images, (rows, 28, 28), "fashion-mnist")).unsqueeze(1)
    numbers = torch.from_numpy(read_idx(labels, (rows,), "fashion-mnist").copy())
    return pixels, checked_labels(numbers, len(CLASSES), str(labels))
