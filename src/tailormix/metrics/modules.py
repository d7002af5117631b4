"""The two ways in which a torchmetrics class remembers: sums, or samples where bins need them all."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import torch
from torchmetrics import Metric

if TYPE_CHECKING:
    from collections.abc import Sequence


class SummedMetric(Metric):
    """A metric that is a function of float64 sums: its state has a fixed size and adds up over ranks."""

    full_state_update = False
    is_differentiable = False
    higher_is_better: bool | None = False
    sums: torch.Tensor

    def __init__(self, shape: tuple[int, ...], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.add_state("sums", torch.zeros(shape, dtype=torch.float64), dist_reduce_fx="sum")

    def compute(self) -> torch.Tensor:
        """Return the value over everything added, on all ranks, as a 0-d float64 tensor."""
        return self._value(self.sums)

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """Plot one value, or a sequence of them; returns figure and axes."""
        return self._plot(val, ax)

    @abstractmethod
    def _value(self, sums: torch.Tensor) -> torch.Tensor:
        """Return the metric of the sums."""


class KeptMetric(Metric):
    """A metric whose bins depend on all samples: two numbers a sample are kept, and gathered over ranks."""

    full_state_update = False
    is_differentiable = False
    higher_is_better: bool | None = False
    first: list[torch.Tensor]
    second: list[torch.Tensor]
    width: torch.Tensor

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.add_state("first", [], dist_reduce_fx="cat")
        self.add_state("second", [], dist_reduce_fx="cat")
        self.add_state("width", torch.ones((), dtype=torch.long), dist_reduce_fx="max")
        self.set_dtype(torch.float64)  # a rank without samples must gather the type of the others

    def keep(self, first: torch.Tensor, second: torch.Tensor) -> None:
        """Keep two numbers of each entry of a batch, (n,) or (n, D)."""
        self.width = torch.full_like(self.width, first.numel() // len(first))
        self.first.append(first.double().reshape(-1))
        self.second.append(second.double().reshape(-1))

    def compute(self) -> torch.Tensor:
        """Return the value over everything added, on all ranks, as a 0-d float64 tensor."""
        first, second = (_joined(state).view(-1, int(self.width)) for state in (self.first, self.second))
        if first.numel() == 0:
            return first.new_full((), torch.nan)
        return self._value(first, second)

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """Plot one value, or a sequence of them; returns figure and axes."""
        return self._plot(val, ax)

    @abstractmethod
    def _value(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        """Return the metric of what was kept, (n, D) each."""


def _joined(state: Sequence[torch.Tensor] | torch.Tensor) -> torch.Tensor:
    """Return one tensor: torchmetrics hands over a list before ranks are synchronised, a tensor after."""
    if isinstance(state, torch.Tensor):
        return state
    return torch.cat(list(state)) if state else torch.empty(0, dtype=torch.float64)
