"""The user's own arrays, checked and split."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import torch

from tailormix import checks
from tailormix.data.files.errors import unusable

from .assemble import three_ways
from .augment import ImageTransform, normalisation
from .memory import MemorySplit
from .record import DataSplits, Task
from .tables import table_splits

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch import Tensor

    Array = np.ndarray[tuple[int, ...], np.dtype[Any]]

OwnTask = Literal["auto", "classification", "regression"]


def array_splits(
    name: str,
    path: Path,
    x: Array,
    y: Array,
    task: OwnTask,
    seed: int,
    validation: float,
    test: float,
    class_names: Sequence[str] = (),
) -> DataSplits:
    """Split x (n, ...) and y, classes stratified. Images are uint8 of four axes; all else is flattened."""
    checks.known("task", task, get_args(OwnTask))
    _check(path, x, y)
    y = y.astype(np.int64) if y.dtype == np.bool_ else y
    classes = task == "classification" or (task == "auto" and np.issubdtype(y.dtype, np.integer))
    targets = _classes(path, y) if classes else torch.from_numpy(y.astype(np.float32)).reshape(len(y), -1)
    rows = three_ways(len(y), seed, validation, test, targets if classes else None)
    if not len(rows[0]):
        raise unusable(path, "rows left for training", f"{len(y)} rows, test={test}, validation={validation}")
    kind: Task = "classification" if classes else "regression"
    names = (class_names or tuple(map(str, range(int(targets.max()) + 1)))) if classes else ()
    if x.dtype == np.uint8 and x.ndim == 4:
        return _images(name, kind, torch.from_numpy(x), targets, rows, names)
    features = torch.from_numpy(x.astype(np.float64)).reshape(len(x), -1)
    return table_splits(name, kind, features, targets, rows, class_names=names)


def _images(
    name: str,
    task: Task,
    images: Tensor,
    targets: Tensor,
    rows: tuple[Tensor, Tensor, Tensor],
    names: Sequence[str],
) -> DataSplits:
    constants = normalisation(*_statistics(images[rows[0]]))
    train, validation, test = (
        MemorySplit(images[part], targets[part], part, ImageTransform(*constants)) for part in rows
    )
    outputs = len(names) if task == "classification" else targets.shape[1]
    return DataSplits(name, task, train, validation, test, outputs, tuple(names))


def _statistics(images: Tensor) -> tuple[list[float], list[float]]:
    """Mean and standard deviation a channel on the scale 0 to 1, from the counts of the 256 values."""
    counts = torch.stack([torch.bincount(channel.flatten(), minlength=256) for channel in images.unbind(1)])
    share, values = counts.double() / counts.sum(dim=1, keepdim=True), torch.arange(256).double() / 255
    mean = share @ values
    std = (share * (values - mean[:, None]) ** 2).sum(dim=1).sqrt()
    return mean.tolist(), torch.where(std > 0, std, 1.0).tolist()


def _check(path: Path, x: Array, y: Array) -> None:
    for label, array in (("x", x), ("y", y)):
        if not (np.issubdtype(array.dtype, np.number) or array.dtype == np.bool_) or np.iscomplexobj(array):
            raise unusable(path, f"{label} of real numbers", str(array.dtype))
        if not np.isfinite(array).all():
            row = int(np.argwhere(~np.isfinite(array))[0][0])
            raise unusable(path, f"finite numbers in {label}", f"{array[row]} in row {row}")
    if x.ndim < 2 or y.ndim < 1 or len(x) != len(y):
        raise unusable(path, "x of shape (n, ...) and y of as many rows", f"{x.shape} and {y.shape}")
    if x.dtype == np.uint8 and x.ndim == 4 and x.shape[1] > 4:
        raise unusable(path, "uint8 images of shape (n, channels, height, width)", str(x.shape))


def _classes(path: Path, y: Array) -> Tensor:
    whole = y.ndim == 1 and bool((y == np.round(y)).all())
    if not whole or len(y) == 0 or y.min() < 0:
        raise unusable(path, "class numbers 0, 1, ... in y of shape (n,)", f"{y.dtype} of shape {y.shape}")
    labels = torch.from_numpy(y.astype(np.int64))
    present = torch.unique(labels)
    if len(present) != int(labels.max()) + 1 or len(present) < 2:
        last = max(int(labels.max()), 1)
        expected = f"every class from 0 to {last} in y (or task=regression)"
        raise unusable(path, expected, f"classes {present.tolist()[:20]}")
    return labels
