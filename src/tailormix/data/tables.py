"""Tables of numbers as scaled splits: Airfoil."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import torch

from tailormix import checks
from tailormix.data.files.location import read_numbers
from tailormix.data.splits import DataSplits, MemorySplit, Setting, Task, hold_out

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch import Tensor


Scaling = Literal["standard", "min-max"]


def table_splits(
    name: str,
    task: Task,
    features: Tensor,
    targets: Tensor,
    rows: tuple[Tensor, Tensor, Tensor],
    *,
    scaling: Scaling = "standard",
    scale_rows: Tensor | None = None,
    class_names: Sequence[str] = (),
) -> DataSplits:
    """Split ``features`` (n, d) and ``targets`` at ``rows`` of train, validation and test.

    Features are scaled with statistics of the training rows, unless ``scale_rows`` names others. Regression
    targets (n, outputs) stay as they are.
    """
    scaled = scale_columns(features, rows[0] if scale_rows is None else scale_rows, scaling)
    train, validation, test = (MemorySplit(scaled[part], targets[part], part) for part in rows)
    outputs = len(class_names) if task == "classification" else targets.shape[1]
    return DataSplits(name, task, train, validation, test, outputs, tuple(class_names))


def scale_columns(features: Tensor, rows: Tensor, scaling: Scaling) -> Tensor:
    """(x - mean) / std, or (x - min) / (max - min), a column, over ``rows``; constant columns become 0.

    Computed in double precision, returned in single.

    >>> scale_columns(torch.tensor([[0.0], [4.0], [8.0]]), torch.tensor([0, 1]), "min-max").flatten().tolist()
    [0.0, 1.0, 2.0]
    """
    known = features[rows].to(torch.float64)
    if scaling == "standard":
        centre, spread = known.mean(dim=0), known.std(dim=0, correction=0)
    else:
        centre, spread = known.amin(dim=0), known.amax(dim=0) - known.amin(dim=0)
    spread = torch.where(spread > 0, spread, 1.0)
    return ((features.to(torch.float64) - centre) / spread).to(torch.float32)


ROWS, VALIDATION, TEST = 1503, 300, 200


def load_airfoil(root: Path, seed: int, *, protocol: Setting = "clean") -> DataSplits:
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
