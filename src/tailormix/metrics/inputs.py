"""Checked inputs of the metrics: classes with targets, or means and standard deviations with targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import torch

from tailormix import checks
from tailormix.checks import readable

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt


Array: TypeAlias = "torch.Tensor | npt.NDArray[np.generic]"

BINARY = ("positive", "top-label")
CHUNK_VALUES = 2**20  # predictions per chunk: memory stays bounded for memory-mapped arrays of any length


@dataclass(frozen=True, eq=False)
class ClassificationInputs:
    """Predictions (n, C) as given, and targets (n,) in int64.

    ``positive``: column 1 of two is the event that is evaluated, instead of the top label. Logits are
    divided by ``temperature`` when they are read.
    """

    predictions: Array
    targets: torch.Tensor
    from_logits: bool
    positive: bool = False
    temperature: float = 1.0

    def __len__(self) -> int:
        """Return n."""
        return len(self.targets)

    @property
    def num_classes(self) -> int:
        """C, the number of columns."""
        return int(self.predictions.shape[1])

    def __getitem__(self, rows: torch.Tensor) -> ClassificationInputs:
        """Return the inputs of some rows (an index tensor)."""
        chosen = self.predictions[rows if isinstance(self.predictions, torch.Tensor) else rows.numpy()]
        return ClassificationInputs(
            chosen, self.targets[rows], self.from_logits, self.positive, self.temperature
        )

    def chunks(self) -> Iterator[tuple[int, torch.Tensor, torch.Tensor]]:
        """Yield (first row, predictions, targets) of blocks of rows, in float32 or float64."""
        rows = max(1, CHUNK_VALUES // self.num_classes)
        for start in range(0, len(self), rows):
            chunk = as_float("predictions", self.predictions[start : start + rows])
            chunk = chunk / self.temperature if self.temperature != 1 else chunk
            yield start, chunk, self.targets[start : start + rows]


@dataclass(frozen=True, eq=False)
class RegressionInputs:
    """Means, targets and standard deviations (0 where none were given), each (n, D) in float64."""

    mean: torch.Tensor
    targets: torch.Tensor
    std: torch.Tensor

    def __len__(self) -> int:
        """Return n."""
        return len(self.mean)

    def __getitem__(self, rows: torch.Tensor) -> RegressionInputs:
        """Return the inputs of some rows (an index tensor)."""
        return RegressionInputs(self.mean[rows], self.targets[rows], self.std[rows])

    @property
    def error(self) -> torch.Tensor:
        """Target minus mean, (n, D)."""
        return self.targets - self.mean


def classification_inputs(
    predictions: Array, targets: Array, *, from_logits: bool = False, binary: str | None = None
) -> ClassificationInputs:
    """Check shapes and types; predictions (n,) need ``binary="positive"`` or ``"top-label"``."""
    predictions = _array("predictions", predictions)
    if binary is not None:
        checks.known("binary", binary, BINARY)
    if predictions.ndim == 1:
        predictions = _two_columns(predictions, from_logits, binary)
    if predictions.ndim != 2 or predictions.shape[1] < 1:
        raise ValueError(f"predictions must have shape (n, classes), got {tuple(predictions.shape)}")
    if len(predictions) == 0:
        raise ValueError("predictions must hold at least one sample, got 0")
    if binary is not None and predictions.shape[1] != 2:
        raise ValueError(f"binary={binary!r} needs 2 classes, got {predictions.shape[1]}")
    indices = _class_indices(targets, len(predictions), int(predictions.shape[1]))
    if isinstance(predictions, torch.Tensor):
        indices = indices.to(predictions.device)
    return ClassificationInputs(predictions, indices, from_logits, binary == "positive")


def regression_inputs(mean: Array, targets: Array, std: Array | None = None) -> RegressionInputs:
    """Check and widen to float64; arrays of different shape are an error, never broadcast.

    >>> import torch
    >>> regression_inputs(torch.zeros(3), torch.zeros(3, 1))
    Traceback (most recent call last):
    ValueError: targets must have the shape of mean: expected (3,), got (3, 1)
    """
    first = _finite("mean", mean)
    if first.ndim not in (1, 2) or first.numel() == 0:
        raise ValueError(
            f"mean must have shape (n,) or (n, D) with at least one entry, got {tuple(first.shape)}"
        )
    second = _finite_like("targets", targets, first)
    third = torch.zeros_like(first) if std is None else _finite_like("std", std, first)
    if readable(third) and bool((third < 0).any()):
        raise ValueError(f"std must be >= 0, got {float(third.min()):.4g}")
    return RegressionInputs(*(tensor.reshape(len(first), -1) for tensor in (first, second, third)))


def as_tensor(array: Array) -> torch.Tensor:
    """Return a tensor that shares memory where it can; read-only numpy memory is copied."""
    if isinstance(array, torch.Tensor):
        return array.detach()
    array = np.asarray(array)
    if array.dtype.byteorder not in ("=", "|"):
        array = array.astype(array.dtype.newbyteorder("="))
    if not array.flags.writeable or any(stride < 0 for stride in array.strides):
        array = np.array(array)
    return torch.from_numpy(array)


def as_float(name: str, array: Array) -> torch.Tensor:
    """Return real numbers in float32 or float64; half precision is widened before anything is computed."""
    tensor = as_tensor(array)
    if not tensor.is_floating_point():
        raise TypeError(f"{name} must hold real numbers, got {tensor.dtype}")
    return tensor if tensor.dtype in (torch.float32, torch.float64) else tensor.float()


def _array(name: str, value: object) -> Array:
    """Return a tensor or an array; lists become arrays."""
    if isinstance(value, (list, tuple)):
        value = np.asarray(value)
    if not isinstance(value, (torch.Tensor, np.ndarray)):
        raise TypeError(f"{name} must be a torch tensor or a numpy array, got {type(value).__name__}")
    if isinstance(value, np.ndarray) and value.dtype.kind not in "biufc":
        raise TypeError(f"{name} must hold numbers, got an array of {value.dtype}")
    return value


def _class_indices(targets: Array, n: int, classes: int) -> torch.Tensor:
    """Return ``targets`` as int64 (n,); soft or out-of-range targets are an error."""
    targets = _array("targets", targets)
    if targets.ndim != 1:
        raise ValueError(
            f"targets must be class indices of shape ({n},), got shape {tuple(targets.shape)}; "
            "soft or one-hot targets have no calibration error: pass argmax indices"
        )
    tensor = as_tensor(targets)
    if tensor.is_floating_point() or tensor.is_complex():
        raise TypeError(
            f"targets must be class indices of an integer type, got {tensor.dtype} (soft targets?)"
        )
    if len(tensor) != n:
        raise ValueError(f"targets must have one entry per prediction: expected {n}, got {len(tensor)}")
    tensor = tensor.long()
    if readable(tensor):
        low, high = int(tensor.min()), int(tensor.max())
        if low < 0 or high >= classes:
            raise ValueError(f"targets must lie in 0..{classes - 1}, got {low if low < 0 else high}")
    return tensor


def _two_columns(predictions: Array, from_logits: bool, binary: str | None) -> torch.Tensor:
    if binary is None:
        raise ValueError(
            'predictions of shape (n,) need binary="positive" (is the probability of class 1 right?) '
            'or binary="top-label" (is the confidence in the likelier class right?)'
        )
    column = as_float("predictions", predictions)
    other = torch.zeros_like(column) if from_logits else 1 - column
    return torch.stack([other, column], dim=1)


def _finite(name: str, array: Array) -> torch.Tensor:
    tensor = as_float(name, _array(name, array)).double()
    if readable(tensor) and not bool(tensor.isfinite().all()):
        raise ValueError(f"{name} must be finite, got NaN or infinity")
    return tensor


def _finite_like(name: str, array: Array, mean: torch.Tensor) -> torch.Tensor:
    tensor = _finite(name, array)
    if tensor.shape != mean.shape:
        raise ValueError(
            f"{name} must have the shape of mean: expected {tuple(mean.shape)}, got {tuple(tensor.shape)}"
        )
    return tensor.to(mean.device)
