"""Corrupted test sets: arrays of five severities, 10 000 images each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from tailormix import checks
from tailormix.data.files.cifar_c_sums import CORRUPTIONS
from tailormix.data.files.errors import damaged, missing

from .assemble import checked_labels, empty_like
from .augment import ImageTransform, normalisation
from .memory import MemorySplit
from .record import DataSplits

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from .assemble import Normalisation

_IMAGES = 10_000
_SEVERITIES = 5


def corrupted_splits(
    name: str,
    folder: Path,
    corruption: str,
    severity: int,
    classes: Sequence[str],
    constants: Normalisation,
) -> DataSplits:
    """Test split of one corruption (or of ``all`` 19 behind each other) at one severity, 1 to 5.

    A row's id is 50 000 · (number of the corruption) + its row in the file.
    """
    checks.known("corruption", corruption, ("all", *CORRUPTIONS))
    if checks.integer("severity", severity, at_least=1) > _SEVERITIES:
        raise ValueError(f"severity must be <= {_SEVERITIES}, got {severity}")
    chosen = CORRUPTIONS if corruption == "all" else (corruption,)
    rows = slice((severity - 1) * _IMAGES, severity * _IMAGES)
    labels_path = folder / "labels.npy"
    labels = _array(labels_path, (_IMAGES * _SEVERITIES,), name)[rows]
    targets = checked_labels(torch.from_numpy(labels.astype(np.int64)), len(classes), str(labels_path))
    shape = (_IMAGES * _SEVERITIES, 32, 32, 3)
    images = np.concatenate([_array(folder / f"{kind}.npy", shape, name)[rows] for kind in chosen])
    first = torch.tensor([CORRUPTIONS.index(kind) * _IMAGES * _SEVERITIES + rows.start for kind in chosen])
    test = MemorySplit(
        torch.from_numpy(np.ascontiguousarray(images.transpose(0, 3, 1, 2))),
        targets.repeat(len(chosen)),
        (first[:, None] + torch.arange(_IMAGES)).flatten(),
        ImageTransform(*normalisation(*constants)),
    )
    none = empty_like(test)
    return DataSplits(name, "classification", none, none, test, len(classes), tuple(classes))


def _array(path: Path, shape: tuple[int, ...], name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    expected = f"uint8 array of shape {shape}"
    if not path.is_file():
        raise missing(path, expected, name)
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise damaged(path, expected, f"an unreadable file ({error})", name) from error
    if array.shape != shape or array.dtype != np.uint8:
        raise damaged(path, expected, f"{array.dtype} of shape {array.shape}", name)
    return np.asarray(array)
