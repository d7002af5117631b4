"""Splits of a multivariate series: 60 % train, 20 % validation, 20 % test, in the order of time."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import torch

from tailormix import checks

from .record import DataSplits, Setting
from .windows import WindowSplit

if TYPE_CHECKING:
    from torch import Tensor


def series_splits(name: str, values: Tensor, window: int, horizon: int, protocol: Setting) -> DataSplits:
    """Windows of ``values`` (T, m), each column divided by its largest absolute value.

    ``clean`` takes that value from the training rows, ``as-published`` from all rows, as the released code
    does. Targets of the three splits are disjoint; windows reach back in time, into rows of earlier splits.
    """
    checks.known("protocol", protocol, get_args(Setting))
    checks.integer("window", window, at_least=1)
    checks.integer("horizon", horizon, at_least=1)
    total = len(values)
    first, middle, last = window + horizon - 1, int(0.6 * total), int(0.8 * total)
    if first >= middle:
        raise ValueError(f"window + horizon must be <= {middle} training rows, got {window + horizon}")
    seen = values if protocol == "as-published" else values[:middle]
    scale = column_scale(seen)
    scaled = (values / scale).to(torch.float32)
    train, validation, test = (
        WindowSplit(scaled, torch.arange(a, b), window, horizon)
        for a, b in ((first, middle), (middle, last), (last, total))
    )
    outputs = values.shape[1]
    return DataSplits(name, "regression", train, validation, test, outputs, target_scale=scale.float())


def column_scale(values: Tensor) -> Tensor:
    """Return max |x| a column, 1 where a column is zero throughout.

    >>> column_scale(torch.tensor([[1.0, 0.0], [-3.0, 0.0]])).tolist()
    [3.0, 1.0]
    """
    largest = values.abs().amax(dim=0)
    return torch.where(largest > 0, largest, 1.0)
