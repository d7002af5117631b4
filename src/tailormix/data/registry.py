"""Every data set by its command-line name, and how it is loaded."""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from tailormix import checks
from tailormix.data.files.location import data_root

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tailormix.data.splits import DataSplits


Task = Literal["classification", "regression", "either"]
Source = Literal["built in", "published", "your own"]


@dataclass(frozen=True)
class DataSet:
    """What a name stands for: ``module:function`` under this package that reads it."""

    target: str
    task: Task
    source: Source
    summary: str


def _published(target: str, task: Task, summary: str) -> DataSet:
    return DataSet(target, task, "published", summary)


DATASETS: dict[str, DataSet] = {
    "moons": DataSet("toys:load_moons", "classification", "built in", "two interleaved half circles"),
    "circles": DataSet(
        "toys:load_circles", "classification", "built in", "two circles, one inside the other"
    ),
    "digits": DataSet(
        "images:load_digits_images", "classification", "built in", "1797 handwritten digits, 8 x 8"
    ),
    "cifar10": _published("images:load_cifar10", "classification", "60 000 photographs, 32 x 32, 10 classes"),
    "cifar100": _published(
        "images:load_cifar100", "classification", "60 000 photographs, 32 x 32, 100 classes"
    ),
    "tiny-imagenet": _published(
        "images:load_tiny_imagenet", "classification", "110 000 photographs, 64 x 64, 200 classes"
    ),
    "imagenet": _published(
        "imagenet:load_imagenet", "classification", "ImageNet-1k, 1.3 million photographs (registration)"
    ),
    "cifar10-c": _published(
        "shifted:load_cifar10_c", "classification", "CIFAR-10's test set, corrupted; test only"
    ),
    "cifar100-c": _published(
        "shifted:load_cifar100_c", "classification", "CIFAR-100's test set, corrupted; test only"
    ),
    "imagenet-r": _published(
        "shifted:load_imagenet_r", "classification", "renditions of 200 ImageNet classes; test only"
    ),
    "imagenet-a": _published(
        "shifted:load_imagenet_a", "classification", "hard photographs of 200 classes; test only"
    ),
    "fashion-mnist": _published(
        "images:load_fashion_mnist", "classification", "70 000 pictures of clothes, 28 x 28"
    ),
    "airfoil": _published(
        "tables:load_airfoil", "regression", "noise of 1503 airfoil measurements, 5 features"
    ),
    "exchange-rate": _published(
        "series:load_exchange_rate", "regression", "daily rates of 8 currencies, 1990 to 2016"
    ),
    "electricity": _published("series:load_electricity", "regression", "hourly consumption of 321 clients"),
    "npz": DataSet("own:load_npz", "either", "your own", "your arrays x and y in one .npz file"),
    "csv": DataSet("own:load_csv", "either", "your own", "your table with a target column"),
    "folder": DataSet("own:load_folder", "classification", "your own", "your images, one folder a class"),
}


def load(
    name: str, *, seed: int = 0, root: str | Path | None = None, fold: str | None = None, **options: object
) -> DataSplits:
    """Load data set ``name`` as seeded, disjoint splits.

    ``root`` is the folder of all data sets (default: ``TAILORMIX_DATA``, else the user's cache). The options
    are those of the function that reads the data set. ``fold``, like ``1/10``, cuts train and validation anew
    for choosing hyper-parameters, and leaves the test split empty
    (:func:`tailormix.data.folds.fold_splits`).

    >>> splits = load("digits", seed=0)
    >>> len(splits.train), len(splits.validation), len(splits.test), splits.input_shape
    (1258, 180, 359, (1, 8, 8))
    >>> load("digit")
    Traceback (most recent call last):
    ValueError: unknown data set 'digit'; did you mean 'digits'? Known: moons, circles, ...
    """
    data_set = DATASETS[checks.known("data set", name, DATASETS)]
    checks.integer("seed", seed, at_least=0)
    module, function = data_set.target.split(":")
    read = cast(
        "Callable[..., DataSplits]", getattr(importlib.import_module(f".{module}", __package__), function)
    )
    parameters = inspect.signature(read).parameters
    general = ("root", "seed")
    for key in options:
        checks.known(f"option of {name}", key, [key for key in parameters if key not in general])
    for key, parameter in parameters.items():
        if parameter.default is parameter.empty and key not in general and key not in options:
            raise ValueError(f"data set {name} needs the option {key}")
    if "seed" in parameters:
        options["seed"] = seed
    if "root" in parameters:
        options["root"] = data_root(root)
    splits = read(**options)
    if fold is None:
        return splits
    from tailormix.data.folds import fold_splits

    return fold_splits(splits, fold, seed)
