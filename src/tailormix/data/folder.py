"""Your own images: one folder a class, streamed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tailormix import checks

from .access.assemble import three_ways
from .access.class_folders import class_files, file_split, subfolders
from .access.record import DataSplits
from .files.errors import unusable

if TYPE_CHECKING:
    from .access.class_folders import Files


def load(
    seed: int,
    *,
    path: str | Path,
    image_size: int = 64,
    validation: float = 0.1,
    test: float = 0.2,
    augment: bool = True,
) -> DataSplits:
    """Read ``path/<class>/<image>``, classes in alphabetical order; shares are of all images.

    Training images are cropped at random to ``image_size`` and flipped, others cropped at the centre.
    """
    path = Path(path)
    checks.integer("image_size", image_size, at_least=1)
    classes, files = _files(path)
    kept, held, tested = three_ways(len(files[1]), seed, validation, test, files[1])
    return DataSplits(
        "folder",
        "classification",
        train=file_split(files, kept, 0, image_size, augment=augment),
        validation=file_split(files, held, 0, image_size, augment=False),
        test=file_split(files, tested, 0, image_size, augment=False),
        outputs=len(classes),
        class_names=tuple(classes),
    )


def _files(path: Path) -> tuple[list[str], Files]:
    if not path.is_dir():
        raise unusable(path, "a folder of class folders", "no such folder")
    classes = subfolders(path)
    if len(classes) < 2:
        raise unusable(path, "two class folders or more", f"{len(classes)}: {classes}")
    files = class_files(path, classes)
    for number, name in enumerate(classes):
        if not (files[1] == number).any():
            raise unusable(path / name, "images", "none")
    return classes, files
