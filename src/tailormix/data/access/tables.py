"""Splits of a table of numbers, scaled by its training rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch

from .memory import MemorySplit
from .record import DataSplits, Task

if TYPE_CHECKING:
    from collections.abc import Sequence

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
