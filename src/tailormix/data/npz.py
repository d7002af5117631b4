"""Your own arrays: ``x`` and ``y`` in one ``.npz`` file."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .access.own import OwnTask, array_splits
from .files.errors import unusable

if TYPE_CHECKING:
    from .access.record import DataSplits


def load(
    seed: int,
    *,
    path: str | Path,
    task: OwnTask = "auto",
    validation: float = 0.1,
    test: float = 0.2,
) -> DataSplits:
    """Read x (n, ...) and y (n,) or (n, outputs) and split them; shares are of all rows.

    Whole-numbered y means classes 0 … C - 1, unless ``task`` says ``regression``. x of uint8 and four axes
    (n, channels, H, W) is taken as images; other x as numbers, standardised by the training rows.
    """
    path = Path(path)
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            x, y = arrays["x"], arrays["y"]
    except KeyError as error:
        raise unusable(path, "arrays named x and y", f"no such array: {error}") from error
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise unusable(path, "an .npz file of plain arrays", str(error)) from error
    return array_splits("npz", path, x, y, task, seed, validation, test)
