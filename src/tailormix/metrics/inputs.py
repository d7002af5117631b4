"""What metrics are given: predictions, targets, means and standard deviations, checked."""

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
CHUNK_VALUES = 2**19  # two megabytes of float32: a chunk and its softmax stay in the cache


@dataclass(frozen=True, eq=False)
class Classified:
    """Checked predictions of a classifier: ``predictions`` (n, C) as given, ``targets`` (n,) int64.

    ``positive`` means that column 1 of two is the event whose probability is judged, not the top label.
    """

    predictions: Array
    targets: torch.Tensor
    from_logits: bool
    positive: bool = False

    def __len__(self) -> int:
        """Return n."""
        return len(self.targets)

    @property
    def num_classes(self) -> int:
        """C, the number of columns."""
        return int(self.predictions.shape[1])

    def chunks(self) -> Iterator[tuple[int, torch.Tensor, torch.Tensor]]:
        """Yield (first row, predictions, targets) in pieces that fit the cache, in float32 or float64."""
        rows = max(1, CHUNK_VALUES // self.num_classes)
        for start in range(0, len(self), rows):
            piece = as_float("predictions", self.predictions[start : start + rows])
            yield start, piece, self.targets[start : start + rows]


def as_tensor(array: Array) -> torch.Tensor:
    """Return a tensor that shares memory where it can; read-only numpy memory is copied."""
    if isinstance(array, torch.Tensor):
        return array.detach()
    array = np.asarray(array)
    if array.dtype.byteorder not in ("=", "|"):
        array = array.astype(array.dtype.newbyteorder("="))
    return torch.from_numpy(
        np.array(array) if not array.flags.writeable or any(s < 0 for s in array.strides) else array
    )


def as_float(name: str, array: Array) -> torch.Tensor:
    """Return real numbers in float32 or float64; half precision is widened before anything is computed."""
    tensor = as_tensor(array)
    if not tensor.is_floating_point():
        raise TypeError(f"{name} must hold real numbers, got {tensor.dtype}")
    return tensor if tensor.dtype in (torch.float32, torch.float64) else tensor.float()


def array_like(name: str, value: object) -> Array:
    """Return ``value`` if it is a tensor or an array (lists become arrays)."""
    if isinstance(value, (list, tuple)):
        return np.asarray(value)
    if not isinstance(value, (torch.Tensor, np.ndarray)):
        raise TypeError(f"{name} must be a torch tensor or a numpy array, got {type(value).__name__}")
    return value


def class_indices(targets: Array, n: int, classes: int) -> torch.Tensor:
    """Return ``targets`` as int64 (n,); soft or out-of-range targets are an error."""
    targets = array_like("targets", targets)
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
        raise ValueError(f"targets must have one entry a prediction: expected {n}, got {len(tensor)}")
    tensor = tensor.long()
    if readable(tensor):
        low, high = int(tensor.min()), int(tensor.max())
        if low < 0 or high >= classes:
            raise ValueError(f"targets must lie in 0..{classes - 1}, got {low if low < 0 else high}")
    return tensor


def classified(
    predictions: Array, targets: Array, *, from_logits: bool = False, binary: str | None = None
) -> Classified:
    """Check shapes and types; predictions (n,) need ``binary="positive"`` or ``"top-label"``."""
    predictions = array_like("predictions", predictions)
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
    indices = class_indices(targets, len(predictions), int(predictions.shape[1]))
    if isinstance(predictions, torch.Tensor):
        indices = indices.to(predictions.device)
    return Classified(predictions, indices, from_logits, binary == "positive")


def _two_columns(predictions: Array, from_logits: bool, binary: str | None) -> torch.Tensor:
    if binary is None:
        raise ValueError(
            'predictions of shape (n,) need binary="positive" (is the probability of class 1 right?) '
            'or binary="top-label" (is the confidence in the likelier class right?)'
        )
    column = as_float("predictions", predictions)
    other = torch.zeros_like(column) if from_logits else 1 - column
    return torch.stack([other, column], dim=1)


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
