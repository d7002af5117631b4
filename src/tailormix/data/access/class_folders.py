"""Image files in class folders, as splits that decode them when asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from .assemble import train_rows
from .augment import ImageTransform, normalisation
from .decode import Decoder
from .record import DataSplits
from .stream import StreamSplit

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch import Tensor

    #: paths, and the class of each
    Files = tuple[tuple[str, ...], Tensor]

IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
SUFFIXES = frozenset({".jpeg", ".jpg", ".png", ".bmp", ".webp", ".ppm"})


def subfolders(folder: Path) -> list[str]:
    """Names of the folders in ``folder``, in lexicographic order; hidden ones are no classes."""
    return sorted(entry.name for entry in folder.iterdir() if entry.is_dir() and entry.name[0] != ".")


def class_files(folder: Path, classes: Sequence[str], labels: Sequence[int] | None = None) -> Files:
    """All images of the class folders in a fixed order; class k has label ``labels[k]``, or k."""
    found = [
        sorted(str(path) for path in (folder / name).iterdir() if path.suffix.lower() in SUFFIXES)
        for name in classes
    ]
    numbers = torch.tensor(range(len(classes)) if labels is None else labels, dtype=torch.int64)
    counts = torch.tensor([len(paths) for paths in found], dtype=torch.int64)
    return tuple(path for paths in found for path in paths), torch.repeat_interleave(numbers, counts)


def file_split(files: Files, rows: Tensor, first: int, size: int, *, augment: bool) -> StreamSplit:
    """Split of the files at ``rows``, whose ids start at ``first``."""
    paths, labels = files
    transform = ImageTransform(*normalisation(*IMAGENET))
    chosen = tuple(paths[row] for row in rows.tolist())
    return StreamSplit(chosen, labels[rows], rows + first, Decoder(size, augment), transform)


def file_splits(
    name: str,
    train: Files,
    test: Files,
    classes: Sequence[str],
    size: int,
    *,
    seed: int,
    validation: float,
    limit: int | None,
    augment: bool,
) -> DataSplits:
    """Split files with a published test set; validation is cut from the training files."""
    kept, held = train_rows(train[1], seed, validation, limit)
    first = len(train[1])
    return DataSplits(
        name,
        "classification",
        train=file_split(train, kept, 0, size, augment=augment),
        validation=file_split(train, held, 0, size, augment=False),
        test=file_split(test, torch.arange(len(test[1])), first, size, augment=False),
        outputs=len(classes),
        class_names=tuple(classes),
    )
