"""Data of the user: arrays, tables and folders of images."""

from __future__ import annotations

import csv
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import torch

from tailormix import checks
from tailormix.data.augment import ImageTransform, normalisation
from tailormix.data.files.location import unusable
from tailormix.data.splits import DataSplits, MemorySplit, Task, three_ways
from tailormix.data.streaming import class_files, file_split, subfolders
from tailormix.data.tabular import table_splits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    Array = np.ndarray[tuple[int, ...], np.dtype[Any]]

TaskOption = Literal["auto", "classification", "regression"]


def load_npz(
    seed: int, *, path: str | Path, task: TaskOption = "auto", validation: float = 0.1, test: float = 0.2
) -> DataSplits:
    """Read x (n, ...) and y (n,) or (n, outputs) and split them; shares are of all rows.

    Whole-numbered y means classes 0 … C - 1, unless ``task`` says ``regression``. x of uint8 and four axes
    (n, channels, H, W) is taken as images; other x as numbers, standardised by the training rows.
    """
    path = Path(path)
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            x, y = arrays["x"], arrays["y"]
    except KeyError as error:
        raise unusable(path, "arrays named x and y", f"no such array: {error}") from error
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise unusable(path, "an .npz file of plain arrays", str(error)) from error
    return array_splits("npz", path, x, y, task, seed, validation, test)


def load_csv(
    seed: int,
    *,
    path: str | Path,
    target: str | None = None,
    task: TaskOption = "auto",
    validation: float = 0.1,
    test: float = 0.2,
) -> DataSplits:
    """Read numbers below a header line; ``target`` names the column to predict (default: the last).

    A target column of words means classes, in alphabetical order, and one of whole numbers classes 0 … C - 1
    unless ``task`` says ``regression``. Features are standardised by the training rows.
    """
    path = Path(path)
    header, rows = _read_csv(path)
    column = -1 if target is None else header.index(checks.known("target", target, header))
    y, words = _csv_target([row.pop(column) for row in rows])
    if words and task == "regression":
        raise unusable(path, "numbers in the target column", repr(words[0]))
    x = np.empty((len(rows), len(header) - 1))
    for k, row in enumerate(rows):
        for j, cell in enumerate(row):
            try:
                x[k, j] = float(cell)
            except ValueError as error:
                raise unusable(path, "numbers in the feature columns", f"{cell!r} in row {k + 1}") from error
    return array_splits("csv", path, x, y, task, seed, validation, test, words)


def load_folder(
    seed: int,
    *,
    path: str | Path,
    image_size: int = 64,
    validation: float = 0.1,
    test: float = 0.2,
    augment: bool = True,
) -> DataSplits:
    """Read ``path/<class>/<image>``, classes in alphabetical order; shares are of all images.

    Training images are cropped at random to ``image_size`` and flipped, others cropped at the centre.
    """
    path = Path(path)
    checks.integer("image_size", image_size, at_least=1)
    if not path.is_dir():
        raise unusable(path, "a folder of class folders", "no such folder")
    classes = subfolders(path)
    if len(classes) < 2:
        raise unusable(path, "two class folders or more", f"{len(classes)}: {classes}")
    files = _, labels = class_files(path, classes)
    for number, name in enumerate(classes):
        if not (labels == number).any():
            raise unusable(path / name, "images", "none")
    kept, held, tested = three_ways(len(labels), seed, validation, test, labels)
    return DataSplits(
        "folder",
        "classification",
        train=file_split(files, kept, image_size, augment=augment),
        validation=file_split(files, held, image_size, augment=False),
        test=file_split(files, tested, image_size, augment=False),
        outputs=len(classes),
        class_names=tuple(classes),
    )


def array_splits(
    name: str,
    path: Path,
    x: Array,
    y: Array,
    task: TaskOption,
    seed: int,
    validation: float,
    test: float,
    class_names: Sequence[str] = (),
) -> DataSplits:
    """Split x (n, ...) and y, classes stratified. Images are uint8 of four axes; all else is flattened."""
    checks.known("task", task, get_args(TaskOption))
    _check_arrays(path, x, y)
    y = y.astype(np.int64) if y.dtype == np.bool_ else y
    if task == "classification" or (task == "auto" and np.issubdtype(y.dtype, np.integer)):
        kind: Task = "classification"
        targets = _class_labels(path, y)
        names = tuple(class_names) or tuple(map(str, range(int(targets.max()) + 1)))
    else:
        kind, names = "regression", ()
        targets = torch.from_numpy(y.astype(np.float32)).reshape(len(y), -1)
    rows = three_ways(len(y), seed, validation, test, targets if names else None)
    if not len(rows[0]):
        raise unusable(path, "rows left for training", f"{len(y)} rows, test={test}, validation={validation}")
    if x.dtype != np.uint8 or x.ndim != 4:
        features = torch.from_numpy(x.astype(np.float64)).reshape(len(x), -1)
        return table_splits(name, kind, features, targets, rows, class_names=names)
    images = torch.from_numpy(x)
    transform = ImageTransform(*normalisation(*_channel_statistics(images[rows[0]])))
    train, held, tested = (MemorySplit(images[part], targets[part], part, transform) for part in rows)
    return DataSplits(name, kind, train, held, tested, len(names) or targets.shape[1], names)


def _read_csv(path: Path) -> tuple[list[str], list[list[str]]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as lines:
            header, *rows = [row for row in csv.reader(lines) if row] or [[]]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise unusable(path, "a CSV file", str(error)) from error
    for k, row in enumerate(rows):
        if len(row) != len(header):
            raise unusable(path, f"{len(header)} cells per row", f"{len(row)} in row {k + 1}")
    if len(header) < 2 or not rows:
        raise unusable(path, "a header, two columns or more, and rows", f"{len(rows)} rows of {len(header)}")
    return header, rows


def _csv_target(cells: list[str]) -> tuple[Array, tuple[str, ...]]:
    """Return the numbers of the target column, or the classes of its words and these words."""
    try:
        y = np.array([float(cell) for cell in cells])
    except ValueError:
        words, numbers = np.unique(cells, return_inverse=True)
        return numbers, tuple(words.tolist())
    whole = bool((np.abs(y) < 2**53).all()) and bool((y == np.round(y)).all())
    return (y.astype(np.int64) if whole else y), ()


def _check_arrays(path: Path, x: Array, y: Array) -> None:
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


def _class_labels(path: Path, y: Array) -> Tensor:
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


def _channel_statistics(images: Tensor) -> tuple[list[float], list[float]]:
    """Mean and standard deviation per channel on the scale 0 to 1, from the counts of the 256 values."""
    counts = torch.stack([torch.bincount(channel.flatten(), minlength=256) for channel in images.unbind(1)])
    share, values = counts.double() / counts.sum(dim=1, keepdim=True), torch.arange(256).double() / 255
    mean = share @ values
    std = (share * (values - mean[:, None]) ** 2).sum(dim=1).sqrt()
    return mean.tolist(), torch.where(std > 0, std, 1.0).tolist()
