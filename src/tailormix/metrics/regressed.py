"""What regression metrics accept: real arrays of one shape, (n,) or (n, D), checked once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailormix.kept import readable
from tailormix.metrics.inputs import array_like, as_float

if TYPE_CHECKING:
    import torch

    from tailormix.metrics.inputs import Array


@dataclass(frozen=True, eq=False)
class Regressed:
    """Checked float64 predictions: ``mean``, ``targets`` and, where there is one, ``std``, each (n, D)."""

    mean: torch.Tensor
    targets: torch.Tensor
    std: torch.Tensor | None = None

    def __len__(self) -> int:
        """Return n."""
        return len(self.mean)

    @property
    def spread(self) -> torch.Tensor:
        """The predicted standard deviation (n, D)."""
        assert self.std is not None
        return self.std

    @property
    def error(self) -> torch.Tensor:
        """Target minus mean, (n, D)."""
        return self.targets - self.mean


def regressed(mean: Array, targets: Array, std: Array | None = None) -> Regressed:
    """Check and widen to float64; arrays of different shape are an error, never broadcast.

    >>> import torch
    >>> regressed(torch.zeros(3), torch.zeros(3, 1))
    Traceback (most recent call last):
    ValueError: targets must have the shape of mean: expected (3,), got (3, 1)
    """
    first = _real("mean", mean)
    if first.ndim not in (1, 2) or first.numel() == 0:
        raise ValueError(
            f"mean must have shape (n,) or (n, D) with at least one entry, got {tuple(first.shape)}"
        )
    second = _like("targets", targets, first)
    third = None if std is None else _like("std", std, first)
    if third is not None and readable(third) and bool((third < 0).any()):
        raise ValueError(f"std must be >= 0, got {float(third.min()):.4g}")
    shape = (len(first), -1)
    return Regressed(first.view(shape), second.view(shape), None if third is None else third.view(shape))


def _real(name: str, array: Array) -> torch.Tensor:
    array = array_like(name, array)
    tensor = as_float(name, array).double().contiguous()
    if readable(tensor) and not bool(tensor.isfinite().all()):
        raise ValueError(f"{name} must be finite, got NaN or infinity")
    return tensor


def _like(name: str, array: Array, mean: torch.Tensor) -> torch.Tensor:
    tensor = _real(name, array)
    if tensor.shape != mean.shape:
        raise ValueError(
            f"{name} must have the shape of mean: expected {tuple(mean.shape)}, got {tuple(tensor.shape)}"
        )
    return tensor.to(mean.device)
