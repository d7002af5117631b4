"""Images that fit in memory: CIFAR, Fashion-MNIST, Digits and Tiny-ImageNet."""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from typing import TYPE_CHECKING

import numpy as np
import torch

from tailormix.data.augment import ImageTransform, normalisation
from tailormix.data.files.location import damaged, missing
from tailormix.data.splits import DataSplits, MemorySplit, as_images, checked_labels, image_splits, three_ways
from tailormix.data.streaming import IMAGENET, read_all

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch import Tensor

    Bytes = np.ndarray[tuple[int, ...], np.dtype[np.uint8]]

_UINT8 = 0x08


def read_idx(
    path: Path, shape: tuple[int, ...], name: str
) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """Read a gzip-compressed IDX file of bytes whose axes are exactly ``shape``."""
    expected = f"an IDX file of bytes of shape {shape}"
    if not path.is_file():
        raise missing(path, expected, name)
    try:
        contents = gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise damaged(path, expected, f"an unreadable file ({error})", name) from error
    header = struct.pack(f">{1 + len(shape)}i", _UINT8 << 8 | len(shape), *shape)
    if not contents.startswith(header):
        raise damaged(path, expected, f"header {contents[: len(header)].hex()}", name)
    if len(contents) != len(header) + math.prod(shape):
        raise damaged(path, expected, f"{len(contents) - len(header)} bytes after the header", name)
    return np.frombuffer(contents, dtype=np.uint8, offset=len(header)).reshape(shape)


_PIXELS = 3 * 32 * 32


def read_records(path: Path, records: int, label_bytes: int, name: str) -> tuple[Bytes, Bytes]:
    """Return images (n, 3, 32, 32) and the last label byte of each record (n,): CIFAR-100's fine class."""
    size = records * (label_bytes + _PIXELS)
    expected = f"{size} bytes: {records} records of {label_bytes} + {_PIXELS}"
    if not path.is_file():
        raise missing(path, expected, name)
    if (got := path.stat().st_size) != size:
        raise damaged(path, expected, f"{got} bytes", name)
    table = np.fromfile(path, dtype=np.uint8).reshape(records, label_bytes + _PIXELS)
    return table[:, label_bytes:].reshape(-1, 3, 32, 32), table[:, label_bytes - 1]


CIFAR10_FOLDER = "cifar-10-batches-bin"
CIFAR10_CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
#: the constants of the released code, not the data's own statistics
CIFAR10_CONSTANTS = ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010))
_CIFAR10_BATCH = 10_000


def load_cifar10(
    root: Path, seed: int, *, validation: float = 0.1, limit: int | None = None, augment: bool = True
) -> DataSplits:
    """Read 50 000 training and 10 000 test images (3, 32, 32); shifts of up to 4 pixels, and flips."""
    train = _read_cifar10(root, [f"data_batch_{k}.bin" for k in range(1, 6)])
    test = _read_cifar10(root, ["test_batch.bin"])
    return image_splits(
        "cifar10",
        train,
        test,
        CIFAR10_CLASSES,
        CIFAR10_CONSTANTS,
        seed=seed,
        validation=validation,
        limit=limit,
        augment=augment,
    )


def _read_cifar10(root: Path, names: Sequence[str]) -> tuple[Tensor, Tensor]:
    parts = [read_records(root / CIFAR10_FOLDER / name, _CIFAR10_BATCH, 1, "cifar10") for name in names]
    labels = [
        checked_labels(
            torch.from_numpy(labels.copy()), len(CIFAR10_CLASSES), str(root / CIFAR10_FOLDER / name)
        )
        for name, (_, labels) in zip(names, parts, strict=True)
    ]
    return as_images(np.concatenate([images for images, _ in parts])), torch.cat(labels)


CIFAR100_FOLDER = "cifar-100-binary"
CIFAR100_NUM_CLASSES = 100
#: the constants of the released code
CIFAR100_CONSTANTS = ((0.5071, 0.4867, 0.4408), (0.2675, 0.2565, 0.2761))


def load_cifar100(
    root: Path, seed: int, *, validation: float = 0.1, limit: int | None = None, augment: bool = True
) -> DataSplits:
    """Read 50 000 training and 10 000 test images (3, 32, 32); shifts of up to 4 pixels, and flips."""
    train, test = (
        _read_cifar100(root / CIFAR100_FOLDER / "train.bin", 50_000),
        _read_cifar100(root / CIFAR100_FOLDER / "test.bin", 10_000),
    )
    return image_splits(
        "cifar100",
        train,
        test,
        cifar100_class_names(root),
        CIFAR100_CONSTANTS,
        seed=seed,
        validation=validation,
        limit=limit,
        augment=augment,
    )


def cifar100_class_names(root: Path) -> tuple[str, ...]:
    """Names of the fine classes as the owners' list has them, or their numbers where the list is missing."""
    listed = root / CIFAR100_FOLDER / "fine_label_names.txt"
    names = tuple(listed.read_text().split()) if listed.is_file() else ()
    return names if len(names) == CIFAR100_NUM_CLASSES else tuple(map(str, range(CIFAR100_NUM_CLASSES)))


def _read_cifar100(path: Path, records: int) -> tuple[Tensor, Tensor]:
    images, labels = read_records(path, records, 2, "cifar100")
    return as_images(images), checked_labels(torch.from_numpy(labels.copy()), CIFAR100_NUM_CLASSES, str(path))


FASHION_MNIST_FOLDER = "fashion-mnist"
FASHION_MNIST_CLASSES = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)
FASHION_MNIST_CONSTANTS = ((0.5,), (0.5,))


def load_fashion_mnist(
    root: Path, seed: int, *, validation: float = 0.1, limit: int | None = None, augment: bool = True
) -> DataSplits:
    """Read 60 000 training and 10 000 test images (1, 28, 28); shifts of up to 2 pixels, and flips."""
    train, test = _read_fashion_mnist(root, "train", 60_000), _read_fashion_mnist(root, "t10k", 10_000)
    return image_splits(
        "fashion-mnist",
        train,
        test,
        FASHION_MNIST_CLASSES,
        FASHION_MNIST_CONSTANTS,
        seed=seed,
        validation=validation,
        limit=limit,
        augment=augment,
        pad=2,
    )


def _read_fashion_mnist(root: Path, part: str, rows: int) -> tuple[Tensor, Tensor]:
    images = root / FASHION_MNIST_FOLDER / f"{part}-images-idx3-ubyte.gz"
    labels = root / FASHION_MNIST_FOLDER / f"{part}-labels-idx1-ubyte.gz"
    pixels = as_images(read_idx(images, (rows, 28, 28), "fashion-mnist")).unsqueeze(1)
    numbers = torch.from_numpy(read_idx(labels, (rows,), "fashion-mnist").copy())
    return pixels, checked_labels(numbers, len(FASHION_MNIST_CLASSES), str(labels))


_INK = 16  # pixels count ink from 0 to 16


def load_digits_images(
    seed: int, *, validation: float = 0.1, test: float = 0.2, augment: bool = True
) -> DataSplits:
    """Read 1797 images (1, 8, 8) of 10 classes; shares are of all images; augmented by shifts of one pixel.

    >>> load_digits_images(0).train.batch(torch.tensor([0, 1]))[0].shape
    torch.Size([2, 1, 8, 8])
    """
    from sklearn.datasets import load_digits

    bunch = load_digits()
    images = torch.from_numpy(bunch.images).to(torch.uint8).unsqueeze(1)
    labels = torch.from_numpy(bunch.target).long()
    rows = three_ways(len(labels), seed, validation, test, labels)
    ink = images[rows[0]].double() / _INK
    scale, shift = normalisation([ink.mean().item()], [ink.std().item()], maximum=_INK)
    plain = ImageTransform(scale, shift)
    train_transform = ImageTransform(scale, shift, pad=1) if augment else plain
    train, held, tested = (
        MemorySplit(images[part], labels[part], part, transform)
        for part, transform in zip(rows, (train_transform, plain, plain), strict=True)
    )
    return DataSplits("digits", "classification", train, held, tested, 10, tuple(map(str, range(10))))


(
    TINY_IMAGENET_FOLDER,
    TINY_IMAGENET_NUM_CLASSES,
    TINY_IMAGENET_TRAIN_IMAGES,
    TINY_IMAGENET_TEST_IMAGES,
    TINY_IMAGENET_SIZE,
) = "tiny-imagenet-200", 200, 500, 50, 64


def load_tiny_imagenet(
    root: Path,
    seed: int,
    *,
    validation: float = 0.1,
    limit: int | None = None,
    augment: bool = True,
    slice: str | None = None,  # noqa: A002 - the option's name on the command line
) -> DataSplits:
    """Read the training images, and the owners' labelled ``val`` folder as test; shifts and flips.

    Classes are numbered in the order of ``wnids.txt``. ``slice`` names another folder of the same layout that
    holds some of the classes: good for trying, not for results.
    """
    folder = root / (slice or TINY_IMAGENET_FOLDER)
    wnids = _tiny_imagenet_lines(folder / "wnids.txt")
    if not slice and len(wnids) != TINY_IMAGENET_NUM_CLASSES:
        raise damaged(
            folder / "wnids.txt", f"{TINY_IMAGENET_NUM_CLASSES} lines", str(len(wnids)), "tiny-imagenet"
        )
    train, test = _tiny_imagenet_train(folder, wnids), _tiny_imagenet_test(folder, wnids)
    name = f"tiny-imagenet ({slice})" if slice else "tiny-imagenet"
    return image_splits(
        name, train, test, wnids, IMAGENET, seed=seed, validation=validation, limit=limit, augment=augment
    )


def _tiny_imagenet_train(folder: Path, wnids: list[str]) -> tuple[Tensor, Tensor]:
    paths = []
    for wnid in wnids:
        images = folder / "train" / wnid / "images"
        found = [str(images / f"{wnid}_{k}.JPEG") for k in range(TINY_IMAGENET_TRAIN_IMAGES)]
        if (got := len(list(images.glob("*.JPEG")))) != TINY_IMAGENET_TRAIN_IMAGES:
            raise damaged(images, f"{TINY_IMAGENET_TRAIN_IMAGES} images", str(got), "tiny-imagenet")
        paths += found
    return read_all(paths, TINY_IMAGENET_SIZE), torch.arange(len(wnids)).repeat_interleave(
        TINY_IMAGENET_TRAIN_IMAGES
    )


def _tiny_imagenet_test(folder: Path, wnids: list[str]) -> tuple[Tensor, Tensor]:
    annotations = folder / "val" / "val_annotations.txt"
    numbers = {wnid: number for number, wnid in enumerate(wnids)}
    paths, labels = [], []
    for line in _tiny_imagenet_lines(annotations):
        file, wnid = [*line.split("\t"), ""][:2]
        if wnid not in numbers:
            raise damaged(annotations, "classes of wnids.txt", repr(wnid), "tiny-imagenet")
        paths.append(str(folder / "val" / "images" / file))
        labels.append(numbers[wnid])
    if len(paths) != TINY_IMAGENET_TEST_IMAGES * len(wnids):
        raise damaged(
            annotations, f"{TINY_IMAGENET_TEST_IMAGES * len(wnids)} lines", str(len(paths)), "tiny-imagenet"
        )
    return read_all(paths, TINY_IMAGENET_SIZE), torch.tensor(labels)


def _tiny_imagenet_lines(path: Path) -> list[str]:
    if not path.is_file():
        raise missing(path, "a list of the data set's layout", "tiny-imagenet")
    return path.read_text().splitlines()
