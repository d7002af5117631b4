"""Daily exchange rates of eight currencies, 1990 to 2016."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from .access.series import series_splits
from .files.text import read_numbers

if TYPE_CHECKING:
    from pathlib import Path

    from .access.record import DataSplits, Setting

ROWS, CURRENCIES = 7588, 8


def load(root: Path, *, protocol: Setting = "clean", window: int = 168, horizon: int = 12) -> DataSplits:
    """Cut windows of 168 days; targets are the 8 rates 12 days later; nothing depends on the seed."""
    path = root / "exchange_rate" / "exchange_rate.txt.gz"
    values = torch.from_numpy(read_numbers(path, ",", ROWS, CURRENCIES, "exchange-rate"))
    return series_splits("exchange-rate", values, window, horizon, protocol)
