"""Every data set by its command-line name, and how it is loaded."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from tailormix import checks
from tailormix.data import (
    custom,
    features,
    imagenet,
    images,
    series,
    shifted,
    table_collections,
    tabular,
    texts,
    toys,
)
from tailormix.data.corrupt import SEVERITIES, with_corrupted_tests
from tailormix.data.files import published
from tailormix.data.files.location import data_root
from tailormix.data.folds import fold_splits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tailormix.data.files.published import PublishedFiles
    from tailormix.data.splits import DataSplits


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
        imagenet.load_imagenet, "ImageNet-1k, 1.3 million photographs (registration)", published.IMAGENET
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
        table_collections.load_keel,
        "43 tables of the KEEL repository (by hand: `tailormix data get keel` says how)",
        published.KEEL,
    ),
    "uci": DataSet(
        table_collections.load_uci, "ten tables of UCI with ten fixed splits", published.UCI, "regression"
    ),
    "features": DataSet(features.load_features, "what tailormix features made of texts or images"),
    "npz": DataSet(custom.load_npz, "your arrays x and y in one .npz file", task="either"),
    "table": DataSet(custom.load_table, "your CSV, TSV or Parquet file with a target column", task="either"),
    "folder": DataSet(custom.load_folder, "your images, one folder per class"),
}


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
    (:func:`tailormix.data.folds.fold_splits`). ``corrupt`` (of images) adds corrupted test images as further
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
        checks.known(f"option of {name}", key, accepted)
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
