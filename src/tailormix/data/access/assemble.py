"""Cut rows into splits, and images with a published test set into a record of splits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from tailormix import checks

from .augment import ImageTransform, normalisation
from .memory import MemorySplit
from .record import DataSplits
from .splitting import hold_out, share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    Normalisation = tuple[Sequence[float], Sequence[float]]


def image_splits(
    name: str,
    train: tuple[Tensor, Tensor],
    test: tuple[Tensor, Tensor],
    classes: Sequence[str],
    constants: Normalisation,
    *,
    seed: int,
    validation: float,
    limit: int | None,
    augment: bool,
    pad: int = 4,
    flip: bool = True,
) -> DataSplits:
    """Split uint8 images whose owners publish a test set; validation is cut from the training rows.

    Validation and test are never augmented. ``limit`` keeps that many training and validation rows. Test ids
    go on where the training ids end.
    """
    (images, labels), (test_images, test_labels) = train, test
    kept, held = train_rows(labels, seed, validation, limit)
    scale, shift = normalisation(*constants)
    plain = ImageTransform(scale, shift)
    changing = ImageTransform(scale, shift, pad=pad, flip=flip) if augment else plain
    first = len(labels)
    return DataSplits(
        name,
        "classification",
        train=MemorySplit(images[kept], labels[kept], kept, changing),
        validation=MemorySplit(images[held], labels[held], held, plain),
        test=MemorySplit(test_images, test_labels, torch.arange(first, first + len(test_labels)), plain),
        outputs=len(classes),
        class_names=tuple(classes),
    )


def train_rows(labels: Tensor, seed: int, validation: float, limit: int | None) -> tuple[Tensor, Tensor]:
    """Stratified (train, validation) rows: at most ``limit`` of all rows, ``validation`` of these held out.

    The rows beyond the limit are in neither part.
    """
    rows = torch.arange(len(labels))
    if limit is not None and checks.integer("limit", limit, at_least=1) < len(labels):
        rows = hold_out(len(labels), limit, seed, labels)[1]
    kept, held = hold_out(len(rows), share("validation", validation, len(rows)), seed, labels[rows])
    return rows[kept], rows[held]


def three_ways(
    n: int, seed: int, validation: float, test: float, labels: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Rows of train, validation and test, where nobody publishes a test set; shares are of all rows."""
    rest, tested = hold_out(n, share("test", test, n), seed, labels)
    size = min(share("validation", validation, n), len(rest))
    kept, held = hold_out(len(rest), size, seed, None if labels is None else labels[rest])
    return rest[kept], rest[held], tested


def empty_like(split: MemorySplit) -> MemorySplit:
    """Return a split of no rows, for data sets that lack one."""
    return MemorySplit(split.inputs[:0], split.targets[:0], split.ids[:0], split.transform)


def checked_labels(labels: Tensor, num_classes: int, where: str) -> Tensor:
    """Return labels as int64 if all lie in 0 … num_classes - 1.

    >>> checked_labels(torch.tensor([0, 7]), 3, "a.bin")
    Traceback (most recent call last):
    tailormix.data.files.errors.DataError: wrong labels in a.bin: expected 0 to 2, got 7 in row 1
    """
    from tailormix.data.files.errors import DataError

    labels = labels.to(torch.int64)
    wrong = ((labels < 0) | (labels >= num_classes)).nonzero()
    if len(wrong):
        row = int(wrong[0])
        raise DataError(
            f"wrong labels in {where}: expected 0 to {num_classes - 1}, got {int(labels[row])} in row {row}"
        )
    return labels


def as_images(pixels: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> Tensor:
    """Return a contiguous, writable uint8 tensor of ``pixels``, copied only where it must be."""
    return torch.from_numpy(np.require(pixels, requirements=["C", "W"]))
