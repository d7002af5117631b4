"""Airfoil self-noise: five measurements, one sound pressure level in decibels."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import numpy as np
import torch

from tailormix import checks

from .access.record import Setting
from .access.splitting import hold_out
from .access.tables import table_splits
from .files.text import read_numbers

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

    from .access.record import DataSplits

ROWS, VALIDATION, TEST = 1503, 300, 200


def load(root: Path, seed: int, *, protocol: Setting = "clean") -> DataSplits:
    """Read 1003 training, 300 validation and 200 test rows; features to [0, 1], target (n, 1) in decibels.

    ``clean`` scales by the training rows. ``as-published`` is the released code: its order of the rows for
    this seed, and features scaled by the smallest and largest values of all rows.
    """
    checks.known("protocol", protocol, get_args(Setting))
    path = root / "airfoil" / "airfoil_self_noise.dat"
    table = torch.from_numpy(read_numbers(path, "\t", ROWS, 6, "airfoil"))
    published = protocol == "as-published"
    return table_splits(
        "airfoil",
        "regression",
        table[:, :5],
        table[:, 5:].float(),
        released_rows(seed) if published else _rows(seed),
        scaling="min-max",
        scale_rows=torch.arange(ROWS) if published else None,
    )


def released_rows(seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Rows in the order of numpy's old generator, as the released code draws it after seeding."""
    generator = np.random.RandomState(seed)
    order = torch.from_numpy(generator.permutation(ROWS))
    train, validation, test = torch.tensor_split(order, [ROWS - VALIDATION - TEST, ROWS - TEST])
    return train, validation, test


def _rows(seed: int) -> tuple[Tensor, Tensor, Tensor]:
    rest, test = hold_out(ROWS, TEST, seed)
    kept, held = hold_out(len(rest), VALIDATION, seed)
    return rest[kept], rest[held], test
