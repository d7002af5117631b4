"""Every data set by its command-line name, how it is loaded, and its folds for choosing hyper-parameters."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import torch

from tailormix import checks
from tailormix.data import (
    custom,
    features,
    images,
    series,
    shifted,
    tabular,
    texts,
    toys,
)
from tailormix.data.corrupt import SEVERITIES, with_corrupted_tests
from tailormix.data.files import published
from tailormix.data.files.location import data_root
from tailormix.data.pixels import StreamSplit
from tailormix.data.series import WindowSplit
from tailormix.data.splits import MemorySplit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from torch import Tensor

    from tailormix.data.files.published import PublishedFiles
    from tailormix.data.splits import DataSplits, Split


@dataclass(frozen=True)
class DataSet:
    """A data set: the function that reads it, one line about it, its files if published, and its task."""

    loader: Callable[..., DataSplits]
    summary: str
    files: PublishedFiles | None = None
    task: Literal["classification", "regression", "either"] = "classification"

    @property
    def source(self) -> Literal["built in", "published", "custom"]:
        """Where the data come from: a published download, the user's files, or a package."""
        if self.files is not None:
            return "published"
        return "custom" if "path" in inspect.signature(self.loader).parameters else "built in"


DATASETS: dict[str, DataSet] = {
    "moons": DataSet(toys.load_moons, "two interleaved half circles"),
    "circles": DataSet(toys.load_circles, "two circles, one inside the other"),
    "digits": DataSet(images.load_digits, "1797 handwritten digits, 8 x 8"),
    "cifar10": DataSet(images.load_cifar10, "60 000 photographs, 32 x 32, 10 classes", published.CIFAR10),
    "cifar100": DataSet(images.load_cifar100, "60 000 photographs, 32 x 32, 100 classes", published.CIFAR100),
    "tiny-imagenet": DataSet(
        images.load_tiny_imagenet, "110 000 photographs, 64 x 64, 200 classes", published.TINY_IMAGENET
    ),
    "imagenet": DataSet(
        images.load_imagenet, "ImageNet-1k, 1.3 million photographs (registration)", published.IMAGENET
    ),
    "cifar10-c": DataSet(
        shifted.load_cifar10_c, "CIFAR-10's test set, corrupted; test only", published.CIFAR10_C
    ),
    "cifar100-c": DataSet(
        shifted.load_cifar100_c, "CIFAR-100's test set, corrupted; test only", published.CIFAR100_C
    ),
    "imagenet-r": DataSet(
        shifted.load_imagenet_r, "renditions of 200 ImageNet classes; test only", published.IMAGENET_R
    ),
    "imagenet-a": DataSet(
        shifted.load_imagenet_a, "hard photographs of 200 classes; test only", published.IMAGENET_A
    ),
    "fashion-mnist": DataSet(
        images.load_fashion_mnist, "70 000 pictures of clothes, 28 x 28", published.FASHION_MNIST
    ),
    "airfoil": DataSet(
        tabular.load_airfoil,
        "noise of 1503 airfoil measurements, 5 features",
        published.AIRFOIL,
        "regression",
    ),
    "exchange-rate": DataSet(
        series.load_exchange_rate,
        "daily rates of 8 currencies, 1990 to 2016",
        published.EXCHANGE_RATE,
        "regression",
    ),
    "electricity": DataSet(
        series.load_electricity, "hourly consumption of 321 clients", published.ELECTRICITY, "regression"
    ),
    "clinc150": DataSet(
        texts.load_clinc150, "23 500 questions of 150 intents, 1000 of none; texts", published.CLINC150
    ),
    "banking77": DataSet(
        texts.load_banking77, "13 083 questions to a bank, 77 intents; texts", published.BANKING77
    ),
    "keel": DataSet(
        tabular.load_keel,
        "43 tables of the KEEL repository (by hand: `tailormix data get keel` says how)",
        published.KEEL,
    ),
    "uci": DataSet(tabular.load_uci, "ten tables of UCI with ten fixed splits", published.UCI, "regression"),
    "features": DataSet(features.load_features, "what tailormix features made of texts or images"),
    "npz": DataSet(custom.load_npz, "your arrays x and y in one .npz file", task="either"),
    "table": DataSet(custom.load_table, "your CSV, TSV or Parquet file with a target column", task="either"),
    "folder": DataSet(custom.load_folder, "your images, one folder per class"),
}


#: options of all data sets
SHARED = ("fold", "corrupt", "severities", "corrupt_limit")


def load(
    name: str,
    *,
    seed: int = 0,
    root: str | Path | None = None,
    fold: str | None = None,
    corrupt: str | Sequence[str] | None = None,
    severities: int | Sequence[int] = SEVERITIES,
    corrupt_limit: int | None = None,
    **options: Any,
) -> DataSplits:
    """Load data set ``name`` as seeded, disjoint splits.

    ``root`` is the folder of all data sets (default: ``TAILORMIX_DATA``, else the user's cache). The options
    are those of the function that reads the data set. ``fold``, like ``1/10``, divides train and validation
    differently for choosing hyper-parameters, and leaves the test split empty
    (:func:`fold_splits`). ``corrupt`` (of images) adds corrupted test images as further
    test parts: ``all`` or some kinds, at the ``severities`` from 1 to 5, of ``corrupt_limit`` test rows
    (:func:`tailormix.data.corrupt.with_corrupted_tests`).

    >>> splits = load("digits", seed=0)
    >>> len(splits.train), len(splits.validation), len(splits.test), splits.input_shape
    (1258, 180, 359, (1, 8, 8))
    >>> load("digit")
    Traceback (most recent call last):
    ValueError: unknown data set 'digit'; did you mean 'digits'? Known: moons, circles, ...
    """
    loader = DATASETS[checks.known("data set", name, DATASETS)].loader
    checks.integer("seed", seed, at_least=0)
    parameters = inspect.signature(loader).parameters
    accepted = {key: parameter for key, parameter in parameters.items() if key not in ("root", "seed")}
    for key in options:
        checks.known(f"option of {name}", key, (*accepted, *SHARED))
    for key, parameter in accepted.items():
        if parameter.default is parameter.empty and key not in options:
            raise ValueError(f"data set {name} needs the option {key}")
    if "seed" in parameters:
        options["seed"] = seed
    if "root" in parameters:
        options["root"] = data_root(root)
    splits = loader(**options)
    if corrupt is not None:
        splits = with_corrupted_tests(splits, corrupt, severities, corrupt_limit)
    return splits if fold is None else fold_splits(splits, fold, seed)


def published_files(name: str) -> PublishedFiles:
    """The files of a published data set.

    >>> published_files("airfoil").folder
    'airfoil'
    """
    files = DATASETS[name].files
    if files is None:
        raise ValueError(f"data set {name} is {DATASETS[name].source}: it has no published files")
    return files


def fold_splits(splits: DataSplits, fold: str, seed: int) -> DataSplits:
    """Train and validation of one fold; the test split is empty, so that nothing can be evaluated on it.

    Classes: the rows of train and validation together in K stratified folds, one of which validates (the
    paper's 90/10 is K = 10). Tables: K folds of the shuffled rows; of the others the first train, as many as
    before, and all the rest validates. Series: K folds of the training windows, in the order of time; of the
    others the first two thirds train, the last third validates. Inputs keep their scale, and training rows
    their augmentation.
    """
    number, folds = parse_fold(fold)
    train, validation = splits.train, splits.validation
    size = len(train) if isinstance(train, WindowSplit) else len(train) + len(validation)
    if size < folds:
        raise ValueError(f"fold must have K <= {size}, the rows to share out, got {fold!r}")
    if isinstance(train, WindowSplit):
        kept, held = series_fold(size, number, folds)
    elif splits.task == "classification":
        labels = torch.cat([train.targets, validation.targets])
        kept, held = stratified_fold(labels, number, folds, seed)
    else:
        kept, held = table_fold(size, number, folds, len(train), seed)
    return replace(
        splits,
        train=_take(train, train, validation, kept),
        validation=_take(validation, train, validation, held),
        test=_take(splits.test, train, validation, held[:0]),
        shifts={},
    )


def parse_fold(text: str) -> tuple[int, int]:
    """The two numbers of ``k/K``: the k-th (from 1) of K folds.

    >>> parse_fold("2/10")
    (2, 10)
    >>> parse_fold("0/4")
    Traceback (most recent call last):
    ValueError: fold must be like 1/10, from 1/K to K/K with K >= 2, got '0/4'
    """
    matched = re.fullmatch(r"([0-9]+)/([0-9]+)", str(text))
    number, folds = (int(matched[1]), int(matched[2])) if matched else (0, 0)
    if not (1 <= number <= folds and folds >= 2):
        raise ValueError(f"fold must be like 1/10, from 1/K to K/K with K >= 2, got {text!r}")
    return number, folds


def stratified_fold(labels: Tensor, number: int, folds: int, seed: int) -> tuple[Tensor, Tensor]:
    """(train, validation) positions: shuffled rows, dealt to the folds class by class.

    >>> kept, held = stratified_fold(torch.tensor([0, 0, 0, 0, 1, 1, 1, 1]), 1, 4, seed=0)
    >>> len(kept), (held < 4).sum().item()
    (6, 1)
    """
    order = _shuffled(len(labels), seed)
    order = order[torch.argsort(labels[order], stable=True)]
    mine = torch.arange(len(labels)) % folds == number - 1
    return order[~mine].sort().values, order[mine].sort().values


def table_fold(size: int, number: int, folds: int, train: int, seed: int) -> tuple[Tensor, Tensor]:
    """(train, validation) positions: outside the fold the first ``train`` rows, and all that is left."""
    order = _shuffled(size, seed)
    others, fold = _without(order, number, folds)
    return others[:train], torch.cat([others[train:], fold])


def series_fold(size: int, number: int, folds: int) -> tuple[Tensor, Tensor]:
    """(train, validation) positions: outside the fold two thirds and one third, in the order of time.

    >>> series_fold(8, 1, 4)
    (tensor([2, 3, 4, 5]), tensor([6, 7]))
    """
    others, _ = _without(torch.arange(size), number, folds)
    cut = 2 * len(others) // 3
    return others[:cut], others[cut:]


def _without(order: Tensor, number: int, folds: int) -> tuple[Tensor, Tensor]:
    """All folds but one, and that one; the first folds are one row longer where they cannot be equal."""
    parts = list(order.tensor_split(folds))
    fold = parts.pop(number - 1)
    return torch.cat(parts), fold


def _shuffled(size: int, seed: int) -> Tensor:
    return torch.randperm(size, generator=torch.Generator().manual_seed(seed))


def _take(like: Split, train: Split, validation: Split, rows: Tensor) -> Split:
    """The rows at these positions of train followed by validation, with the transform of ``like``."""
    both = (train, validation)
    ids = torch.cat([split.ids for split in both])[rows]
    if isinstance(like, WindowSplit):
        return replace(like, ids=ids)
    targets = torch.cat([split.targets for split in both])[rows]
    if isinstance(like, StreamSplit):
        paths = [path for split in both if isinstance(split, StreamSplit) for path in split.paths]
        return replace(like, paths=tuple(paths[row] for row in rows.tolist()), targets=targets, ids=ids)
    if isinstance(like, MemorySplit):
        inputs = torch.cat([split.inputs for split in both if isinstance(split, MemorySplit)])[rows]
        return replace(like, inputs=inputs, targets=targets, ids=ids)
    raise TypeError(f"fold needs splits in memory, of files or of windows, got {type(like).__name__}")
