"""Every data set by its command-line name. Free of torch, so that listing the names is instant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Task = Literal["classification", "regression", "either"]
Source = Literal["built in", "published", "your own"]


@dataclass(frozen=True)
class DataSet:
    """What a name stands for: the module under this package whose ``load`` reads it."""

    module: str
    task: Task
    source: Source
    summary: str


def _published(module: str, task: Task, summary: str) -> DataSet:
    return DataSet(module, task, "published", summary)


DATASETS: dict[str, DataSet] = {
    "moons": DataSet("moons", "classification", "built in", "two interleaved half circles"),
    "circles": DataSet("circles", "classification", "built in", "two circles, one inside the other"),
    "digits": DataSet("digits", "classification", "built in", "1797 handwritten digits, 8 x 8"),
    "cifar10": _published("cifar10", "classification", "60 000 photographs, 32 x 32, 10 classes"),
    "cifar100": _published("cifar100", "classification", "60 000 photographs, 32 x 32, 100 classes"),
    "tiny-imagenet": _published(
        "tiny_imagenet", "classification", "110 000 photographs, 64 x 64, 200 classes"
    ),
    "imagenet": _published(
        "imagenet", "classification", "ImageNet-1k, 1.3 million photographs (registration)"
    ),
    "cifar10-c": _published("cifar10_c", "classification", "CIFAR-10's test set, corrupted; test only"),
    "cifar100-c": _published("cifar100_c", "classification", "CIFAR-100's test set, corrupted; test only"),
    "imagenet-r": _published("imagenet_r", "classification", "renditions of 200 ImageNet classes; test only"),
    "imagenet-a": _published("imagenet_a", "classification", "hard photographs of 200 classes; test only"),
    "fashion-mnist": _published("fashion_mnist", "classification", "70 000 pictures of clothes, 28 x 28"),
    "airfoil": _published("airfoil", "regression", "noise of 1503 airfoil measurements, 5 features"),
    "exchange-rate": _published("exchange_rate", "regression", "daily rates of 8 currencies, 1990 to 2016"),
    "electricity": _published("electricity", "regression", "hourly consumption of 321 clients"),
    "npz": DataSet("npz", "either", "your own", "your arrays x and y in one .npz file"),
    "csv": DataSet("csv_table", "either", "your own", "your table with a target column"),
    "folder": DataSet("folder", "classification", "your own", "your images, one folder a class"),
}
