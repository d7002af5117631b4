"""Time series as windows: Electricity and Exchange-Rate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final, get_args

import torch

from tailormix import checks
from tailormix.data.files.arrays import read_numbers
from tailormix.data.preprocessing import ArrayPreprocessing
from tailormix.data.splits import DataSplits, SplitProtocol

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from torch import Tensor

    from tailormix.data.splits import BatchPlan


def load_electricity(
    root: Path,
    *,
    protocol: SplitProtocol = "clean",
    window: int = 168,
    horizon: int = 24,
    slice: str | None = None,  # noqa: A002 - the option's name on the command line
) -> DataSplits:
    """Windows of 168 hours; targets are all 321 clients 24 hours later; nothing depends on the seed.

    ``slice`` names another folder that holds all hours of some clients: good for trying, not for results.
    """
    path = root / (slice or "electricity") / "electricity.txt.gz"
    values = torch.from_numpy(read_numbers(path, ",", 26_304, None if slice else 321, "electricity"))
    name = f"electricity ({slice})" if slice else "electricity"
    return series_splits(name, values, window, horizon, protocol)


def load_exchange_rate(
    root: Path, *, protocol: SplitProtocol = "clean", window: int = 168, horizon: int = 12
) -> DataSplits:
    """Windows of 168 days; targets are the 8 rates 12 days later; nothing depends on the seed."""
    path = root / "exchange_rate" / "exchange_rate.txt.gz"
    values = torch.from_numpy(read_numbers(path, ",", 7588, 8, "exchange-rate"))
    return series_splits("exchange-rate", values, window, horizon, protocol)


def series_splits(
    name: str, values: Tensor, window: int, horizon: int, protocol: SplitProtocol
) -> DataSplits:
    """Windows of ``values`` (T, m), each column divided by its largest absolute value.

    ``clean`` takes that value from the training rows, ``as-published`` from all rows, as the released code
    does. Targets of the three splits are disjoint; windows reach back in time, into rows of earlier splits.
    """
    checks.known("protocol", protocol, get_args(SplitProtocol))
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
    return DataSplits(
        name,
        "regression",
        train,
        validation,
        test,
        outputs,
        target_scale=scale.float(),
        preprocessing=ArrayPreprocessing((window, outputs), spread=scale),
    )


def column_scale(values: Tensor) -> Tensor:
    """Return max |x| per column, 1 where a column is zero throughout.

    >>> column_scale(torch.tensor([[1.0, 0.0], [-3.0, 0.0]])).tolist()
    [3.0, 1.0]
    """
    largest = values.abs().amax(dim=0)
    return torch.where(largest > 0, largest, 1.0)


@final
@dataclass(frozen=True, eq=False)
class WindowSplit:
    """x = values[t - h - P + 1 … t - h], y = values[t] for each target row t: (n, P, m) and (n, m).

    ``ids`` (n,) are the target rows t; ``values`` (T, m) is shared by all splits.

    >>> split = WindowSplit(torch.arange(6.0)[:, None], torch.tensor([4, 5]), window=3, horizon=2)
    >>> x, y = split.batch(torch.tensor([1]))
    >>> x.flatten().tolist(), y.tolist()
    ([1.0, 2.0, 3.0], [[5.0]])
    """

    values: Tensor
    ids: Tensor
    window: int
    horizon: int

    def __post_init__(self) -> None:
        first = self.window + self.horizon - 1
        if len(self.ids) and checks.readable(self.ids) and int(self.ids.min()) < first:
            raise ValueError(f"ids must be >= window + horizon - 1 = {first}, got {int(self.ids.min())}")

    @property
    def targets(self) -> Tensor:
        """All targets, (n, m)."""
        return self.values[self.ids]

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one window, (P, m)."""
        return (self.window, self.values.shape[1])

    def __len__(self) -> int:
        return len(self.ids)

    def batch(self, indices: Tensor, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
        """Return (x, y) of the targets at positions ``indices``; nothing is drawn."""
        del generator
        rows = self.ids[indices.to(self.ids.device, non_blocking=True)]
        first = rows - self.horizon - self.window + 1
        steps = torch.arange(self.window, device=rows.device)
        return self.values[first[:, None] + steps], self.values[rows]

    def batches(self, plan: BatchPlan, workers: int = 0) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the batches of the plan; workers would only slow it down."""
        del workers
        for indices, _ in plan:
            yield self.batch(indices)

    def to(self, device: torch.device | str) -> WindowSplit:
        """Return the split on ``device``."""
        return replace(self, values=self.values.to(device), ids=self.ids.to(device))
