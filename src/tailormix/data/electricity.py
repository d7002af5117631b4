"""Hourly electricity consumption of 321 clients, 2012 to 2014."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from .access.series import series_splits
from .files.text import read_numbers

if TYPE_CHECKING:
    from pathlib import Path

    from .access.record import DataSplits, Setting

ROWS, CLIENTS = 26_304, 321


def load(
    root: Path,
    *,
    protocol: Setting = "clean",
    window: int = 168,
    horizon: int = 24,
    slice: str | None = None,  # noqa: A002 - the option's name on the command line
) -> DataSplits:
    """Cut windows of 168 hours; targets are all clients 24 hours later; nothing depends on the seed.

    ``slice`` names another folder that holds all hours of some clients: good for trying, not for results.
    """
    path = root / (slice or "electricity") / "electricity.txt.gz"
    values = torch.from_numpy(read_numbers(path, ",", ROWS, None if slice else CLIENTS, "electricity"))
    name = f"electricity ({slice})" if slice else "electricity"
    return series_splits(name, values, window, horizon, protocol)
