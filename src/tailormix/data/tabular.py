"""Tables of numbers: the Airfoil data set, scaled splits, and text files of numbers."""

from __future__ import annotations

import gzip
import zlib
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import torch

from tailormix import checks
from tailormix.data.files.location import damaged, missing
from tailormix.data.preprocessing import ArrayPreprocessing
from tailormix.data.splits import DataSplits, MemorySplit, SplitProtocol, Task, hold_out

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch import Tensor

    Rows = tuple[Tensor, Tensor, Tensor]

Scaling = Literal["standard", "min-max"]

AIRFOIL_ROWS, AIRFOIL_VALIDATION, AIRFOIL_TEST = 1503, 300, 200


def load_airfoil(root: Path, seed: int, *, protocol: SplitProtocol = "clean") -> DataSplits:
    """Read 1003 training, 300 validation and 200 test rows; features to [0, 1], target (n, 1) in decibels.

    ``clean`` scales by the training rows. ``as-published`` is the released code: its order of the rows for
    this seed, and features scaled by the smallest and largest values of all rows.
    """
    checks.known("protocol", protocol, get_args(SplitProtocol))
    path = root / "airfoil" / "airfoil_self_noise.dat"
    table = read_numbers(path, "\t", AIRFOIL_ROWS, 6, "airfoil")
    features, targets = table[:, :5], table[:, 5:].float()
    if protocol == "as-published":
        rows, all_rows = _released_rows(seed), torch.arange(AIRFOIL_ROWS)
        return table_splits("airfoil", "regression", features, targets, rows, "min-max", scale_rows=all_rows)
    rest, test = hold_out(AIRFOIL_ROWS, AIRFOIL_TEST, seed)
    kept, held = hold_out(len(rest), AIRFOIL_VALIDATION, seed)
    return table_splits("airfoil", "regression", features, targets, (rest[kept], rest[held], test), "min-max")


def _released_rows(seed: int) -> Rows:
    """Rows in the order of numpy's old generator, as the released code draws it after seeding."""
    order = torch.from_numpy(np.random.RandomState(seed).permutation(AIRFOIL_ROWS))
    test = AIRFOIL_ROWS - AIRFOIL_TEST
    train, validation, test_rows = torch.tensor_split(order, [test - AIRFOIL_VALIDATION, test])
    return train, validation, test_rows


def table_splits(
    name: str,
    task: Task,
    features: Tensor,
    targets: Tensor,
    rows: Rows,
    scaling: Scaling = "standard",
    *,
    scale_rows: Tensor | None = None,
    class_names: Sequence[str] = (),
) -> DataSplits:
    """Split ``features`` (n, ...) and ``targets`` at ``rows`` of train, validation and test.

    Features are scaled with statistics of the training rows, unless ``scale_rows`` names others, and
    flattened. Regression targets (n, outputs) stay as they are.
    """
    preprocessing = fit_scale(features[rows[0] if scale_rows is None else scale_rows], scaling)
    inputs = preprocessing(features)
    train, validation, test = (MemorySplit(inputs[part], targets[part], part) for part in rows)
    outputs = len(class_names) if task == "classification" else targets.shape[1]
    return DataSplits(
        name, task, train, validation, test, outputs, tuple(class_names), preprocessing=preprocessing
    )


def fit_scale(features: Tensor, scaling: Scaling) -> ArrayPreprocessing:
    """(x - mean) / std, or (x - min) / (max - min), per feature of (n, ...); constant features become 0.

    >>> fit_scale(torch.tensor([[0.0], [4.0]]), "min-max")(torch.tensor([[8.0]])).item()
    2.0
    """
    known = features.to(torch.float64)
    if scaling == "standard":
        centre, spread = known.mean(dim=0), known.std(dim=0, correction=0)
    else:
        centre, spread = known.amin(dim=0), known.amax(dim=0) - known.amin(dim=0)
    spread = torch.where(spread > 0, spread, 1.0)
    return ArrayPreprocessing(features.shape[1:], centre=centre, spread=spread, flat=features.ndim > 2)


def read_numbers(path: Path, delimiter: str, rows: int, columns: int | None, name: str) -> Tensor:
    """Read exactly ``rows`` x ``columns`` finite numbers; ``columns=None`` accepts any number of them."""
    expected = f"{rows} rows of {'equally many' if columns is None else columns} numbers"
    if not path.is_file():
        raise missing(path, expected, name)
    try:
        with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
            table = np.loadtxt(lines, delimiter=delimiter, ndmin=2, max_rows=rows + 1)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise damaged(path, expected, f"an unreadable file ({error})", name) from error
    if len(table) != rows or (columns is not None and table.shape[1] != columns):
        more = "or more " if len(table) > rows else ""
        raise damaged(path, expected, f"{table.shape[0]} {more}rows of {table.shape[1]}", name)
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise damaged(path, expected, f"{table[row, column]} in row {row}, column {column}", name)
    return torch.from_numpy(table)
