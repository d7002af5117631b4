"""Test sets of 200 of ImageNet's classes, labelled by their numbers among the 1000."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from tailormix.data.files.errors import damaged, missing

from .class_folders import class_files, file_split, subfolders
from .record import DataSplits

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_OUTPUTS = 1000


def subset_splits(
    name: str, folder: Path, numbers: Sequence[int], images: int | None, image_size: int
) -> DataSplits:
    """Test split of the class folders in ``folder``, whose k-th wnid in order is class ``numbers[k]``.

    Both ImageNet's class numbers and ``numbers`` follow the order of the wnids, so all of the folders must be
    there. ``images`` is the number of files that the owners publish, None for a slice.
    """
    if not folder.is_dir():
        raise missing(folder, f"a folder of {len(numbers)} class folders", name)
    classes = subfolders(folder)
    if len(classes) != len(numbers):
        raise damaged(folder, f"{len(numbers)} class folders", str(len(classes)), name)
    files = class_files(folder, classes, numbers)
    if images is not None and len(files[0]) != images:
        raise damaged(folder, f"{images} images", str(len(files[0])), name)
    test = file_split(files, torch.arange(len(files[0])), 0, image_size, augment=False)
    none = file_split(files, torch.arange(0), 0, image_size, augment=False)
    return DataSplits(name, "classification", none, none, test, _OUTPUTS)
