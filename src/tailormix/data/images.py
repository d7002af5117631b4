"""Images in memory (CIFAR, Fashion-MNIST, Digits, Tiny-ImageNet), and ImageNet batch by batch from files."""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from typing import TYPE_CHECKING

import numpy as np
import torch

from tailormix.data.files.location import damaged, missing
from tailormix.data.pixels import (
    IMAGENET_MEAN_STD,
    Augmentation,
    ImageTransform,
    class_files,
    file_split,
    normalisation,
    read_images,
    subfolders,
)
from tailormix.data.preprocessing.images import ImagePreprocessing, photographs
from tailormix.data.splits import DataSplits, MemorySplit, check_labels, three_ways, train_rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch import Tensor

    from tailormix.data.pixels import Files, MeanStd

    #: uint8 images (n, channels, H, W) and their labels (n,)
    Images = tuple[Tensor, Tensor]

CIFAR10_CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
#: the constants of the released code, not the statistics of the data
CIFAR10_MEAN_STD = ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010))
CIFAR100_MEAN_STD = ((0.5071, 0.4867, 0.4408), (0.2675, 0.2565, 0.2761))
_CIFAR10_BATCH = 10_000
_PIXELS = 3 * 32 * 32

# fmt: off
FASHION_MNIST_CLASSES = (
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
)
# fmt: on

_IMAGENET_CLASSES, _IMAGENET_TRAIN, _IMAGENET_TEST = 1000, 1_281_167, 50_000
_TINY_CLASSES, _TINY_TRAIN, _TINY_TEST, _TINY_SIDE = 200, 500, 50, 64  # images of each class, pixels


def load_cifar10(
    root: Path, seed: int, *, validation: float = 0.1, limit: int | None = None, augment: bool | str = True
) -> DataSplits:
    """Read 50 000 training and 10 000 test images (3, 32, 32); shifts of up to 4 pixels, and flips."""
    folder = root / "cifar-10-batches-bin"
    names = [*(f"data_batch_{k}.bin" for k in range(1, 6)), "test_batch.bin"]
    *batches, test = (_read_cifar(folder / name, _CIFAR10_BATCH, 1, 10, "cifar10") for name in names)
    train = torch.cat([images for images, _ in batches]), torch.cat([labels for _, labels in batches])
    return image_splits(
        "cifar10", train, test, CIFAR10_CLASSES, CIFAR10_MEAN_STD, seed, validation, limit, augment
    )


def load_cifar100(
    root: Path, seed: int, *, validation: float = 0.1, limit: int | None = None, augment: bool | str = True
) -> DataSplits:
    """Read 50 000 training and 10 000 test images (3, 32, 32); shifts of up to 4 pixels, and flips."""
    folder = root / "cifar-100-binary"
    train = _read_cifar(folder / "train.bin", 50_000, 2, 100, "cifar100")
    test = _read_cifar(folder / "test.bin", 10_000, 2, 100, "cifar100")
    classes = cifar100_class_names(root)
    return image_splits("cifar100", train, test, classes, CIFAR100_MEAN_STD, seed, validation, limit, augment)


def cifar100_class_names(root: Path) -> tuple[str, ...]:
    """Names of the fine classes as the published list has them, or their numbers where it is missing."""
    listed = root / "cifar-100-binary" / "fine_label_names.txt"
    names = tuple(listed.read_text().split()) if listed.is_file() else ()
    return names if len(names) == 100 else tuple(map(str, range(100)))


def load_fashion_mnist(
    root: Path, seed: int, *, validation: float = 0.1, limit: int | None = None, augment: bool | str = True
) -> DataSplits:
    """Read 60 000 training and 10 000 test images (1, 28, 28); shifts of up to 2 pixels, and flips."""
    folder, classes = root / "fashion-mnist", FASHION_MNIST_CLASSES
    train, test = _read_fashion_mnist(folder, "train", 60_000), _read_fashion_mnist(folder, "t10k", 10_000)
    mean_std = ((0.5,), (0.5,))
    return image_splits(
        "fashion-mnist", train, test, classes, mean_std, seed, validation, limit, augment, pad=2
    )


def load_digits(seed: int, *, validation: float = 0.1, test: float = 0.2, augment: bool = True) -> DataSplits:
    """Read 1797 images (1, 8, 8) of 10 classes; shares are of all images; augmented by shifts of one pixel.

    >>> load_digits(0).train.batch(torch.tensor([0, 1]))[0].shape
    torch.Size([2, 1, 8, 8])
    """
    from sklearn import datasets

    if not isinstance(augment, bool):
        raise TypeError(f"augment of digits must be true or false, got {augment!r}")
    digits = datasets.load_digits()
    images = torch.from_numpy(digits.images).to(torch.uint8).unsqueeze(1)  # ink from 0 to 16
    labels = torch.from_numpy(digits.target).long()
    rows = three_ways(len(labels), seed, validation, test, labels)
    ink = images[rows[0]].double() / 16
    mean_std = [ink.mean().item()], [ink.std().item()]
    scale, shift = normalisation(*mean_std, maximum=16)
    plain = ImageTransform(scale, shift)
    augmented = ImageTransform(scale, shift, pad=1) if augment else plain
    train, held, tested = (
        MemorySplit(images[part], labels[part], part, transform)
        for part, transform in zip(rows, (augmented, plain, plain), strict=True)
    )
    return DataSplits(
        "digits",
        "classification",
        train,
        held,
        tested,
        outputs=10,
        class_names=tuple(map(str, range(10))),
        preprocessing=ImagePreprocessing((1, 8, 8), *mean_std, maximum=16),
    )


def load_tiny_imagenet(
    root: Path,
    seed: int,
    *,
    validation: float = 0.1,
    limit: int | None = None,
    augment: bool | str = True,
    slice: str | None = None,  # noqa: A002 - the option's name on the command line
) -> DataSplits:
    """Read the training images, and the labelled ``val`` folder as test; shifts of up to 4 pixels, and flips.

    Classes are numbered in the order of ``wnids.txt``. ``slice`` names another folder of the same layout that
    holds some of the classes: good for trying, not for results.
    """
    folder = root / (slice or "tiny-imagenet-200")
    wnids = _read_lines(folder / "wnids.txt")
    if not slice and len(wnids) != _TINY_CLASSES:
        raise damaged(folder / "wnids.txt", f"{_TINY_CLASSES} lines", str(len(wnids)), "tiny-imagenet")
    train, test = _tiny_imagenet_train(folder, wnids), _tiny_imagenet_test(folder, wnids)
    name = f"tiny-imagenet ({slice})" if slice else "tiny-imagenet"
    return image_splits(name, train, test, wnids, IMAGENET_MEAN_STD, seed, validation, limit, augment)


def load_imagenet(
    root: Path,
    seed: int,
    *,
    validation: float = 0.04,
    limit: int | None = None,
    augment: bool | str = True,
    image_size: int = 224,
    slice: str | None = None,  # noqa: A002 - the option's name on the command line
) -> DataSplits:
    """Read ``train/<wnid>/`` and, as test, the labelled ``val/<wnid>/``.

    Random resized crops and flips; for evaluation the central crop. Classes are numbered in the order of
    their wnids. ``slice`` names another folder of the same layout with some of the classes or images.
    """
    folder = root / (slice or "imagenet")
    if not (folder / "train").is_dir():
        raise missing(folder / "train", "a folder of class folders named by wnid", "imagenet")
    classes = subfolders(folder / "train")
    if not slice and len(classes) != _IMAGENET_CLASSES:
        raise damaged(folder / "train", f"{_IMAGENET_CLASSES} class folders", str(len(classes)), "imagenet")
    train = _imagenet_files(folder / "train", classes, None if slice else _IMAGENET_TRAIN)
    test = _imagenet_files(folder / "val", classes, None if slice else _IMAGENET_TEST)
    kept, held = train_rows(train[1], seed, validation, limit)
    all_rows = torch.arange(len(test[1]))
    return DataSplits(
        f"imagenet ({slice})" if slice else "imagenet",
        "classification",
        train=file_split(train, kept, image_size, Augmentation.named(augment)),
        validation=file_split(train, held, image_size),
        test=file_split(test, all_rows, image_size, first_id=len(train[1])),
        outputs=len(classes),
        class_names=tuple(classes),
        preprocessing=photographs(image_size),
    )


def image_splits(
    name: str,
    train: Images,
    test: Images,
    classes: Sequence[str],
    mean_std: MeanStd,
    seed: int,
    validation: float,
    limit: int | None,
    augment: bool | str,
    pad: int = 4,
) -> DataSplits:
    """Split images that are published with a test set; validation is taken from the training rows.

    Validation and test are never augmented, training images as :class:`Augmentation` says: cut after
    ``pad`` pixels of padding. ``limit`` is the number of training and validation rows. The ids of the test
    rows follow those of the training rows.
    """
    (images, labels), (test_images, test_labels) = train, test
    kept, held = train_rows(labels, seed, validation, limit)
    scale, shift = normalisation(*mean_std)
    plain = ImageTransform(scale, shift)
    augmented = plain.augmented(Augmentation.named(augment), pad)
    test_ids = torch.arange(len(labels), len(labels) + len(test_labels))
    return DataSplits(
        name,
        "classification",
        train=MemorySplit(images[kept], labels[kept], kept, augmented),
        validation=MemorySplit(images[held], labels[held], held, plain),
        test=MemorySplit(test_images, test_labels, test_ids, plain),
        outputs=len(classes),
        class_names=tuple(classes),
        preprocessing=ImagePreprocessing(images.shape[1:], *mean_std),
    )


def _read_cifar(path: Path, records: int, label_bytes: int, num_classes: int, name: str) -> Images:
    """Images (n, 3, 32, 32) and the last label byte of each record (n,): the fine class of CIFAR-100."""
    size = records * (label_bytes + _PIXELS)
    expected = f"{size} bytes: {records} records of {label_bytes} + {_PIXELS}"
    if not path.is_file():
        raise missing(path, expected, name)
    if (got := path.stat().st_size) != size:
        raise damaged(path, expected, f"{got} bytes", name)
    table = torch.from_numpy(np.fromfile(path, dtype=np.uint8)).reshape(records, label_bytes + _PIXELS)
    images = table[:, label_bytes:].reshape(-1, 3, 32, 32)
    return images, check_labels(table[:, label_bytes - 1], num_classes, path)


def _read_fashion_mnist(folder: Path, part: str, rows: int) -> Images:
    labels_path = folder / f"{part}-labels-idx1-ubyte.gz"
    images = _read_idx(folder / f"{part}-images-idx3-ubyte.gz", (rows, 28, 28), "fashion-mnist")
    labels = _read_idx(labels_path, (rows,), "fashion-mnist")
    return images.unsqueeze(1), check_labels(labels, len(FASHION_MNIST_CLASSES), labels_path)


def _read_idx(path: Path, shape: tuple[int, ...], name: str) -> Tensor:
    """Read a gzip-compressed IDX file of bytes whose axes are exactly ``shape``."""
    expected = f"an IDX file of bytes of shape {shape}"
    if not path.is_file():
        raise missing(path, expected, name)
    header = struct.pack(f">{1 + len(shape)}i", 0x0800 | len(shape), *shape)  # 0x08 means unsigned bytes
    size = len(header) + math.prod(shape)
    try:
        with gzip.open(path) as file:
            contents = bytearray(file.read(size + 1))  # no more than what is expected, and one byte to tell
    except (OSError, EOFError, zlib.error) as error:
        raise damaged(path, expected, f"an unreadable file ({error})", name) from error
    if not contents.startswith(header):
        raise damaged(path, expected, f"header {contents[: len(header)].hex()}", name)
    if len(contents) != size:
        got = "more" if len(contents) > size else f"{len(contents) - len(header)} bytes after the header"
        raise damaged(path, expected, got, name)
    return torch.frombuffer(contents, dtype=torch.uint8, offset=len(header)).reshape(shape)


def _tiny_imagenet_train(folder: Path, wnids: list[str]) -> Images:
    paths = []
    for wnid in wnids:
        images = folder / "train" / wnid / "images"
        if (got := len(list(images.glob("*.JPEG")))) != _TINY_TRAIN:
            raise damaged(images, f"{_TINY_TRAIN} images", str(got), "tiny-imagenet")
        paths += [str(images / f"{wnid}_{k}.JPEG") for k in range(_TINY_TRAIN)]
    return read_images(paths, (3, _TINY_SIDE, _TINY_SIDE), exact=True), torch.arange(
        len(wnids)
    ).repeat_interleave(_TINY_TRAIN)


def _tiny_imagenet_test(folder: Path, wnids: list[str]) -> Images:
    annotations = folder / "val" / "val_annotations.txt"
    numbers = {wnid: number for number, wnid in enumerate(wnids)}
    paths, labels = [], []
    for line in _read_lines(annotations):
        file, wnid = [*line.split("\t"), ""][:2]
        if wnid not in numbers:
            raise damaged(annotations, "classes of wnids.txt", repr(wnid), "tiny-imagenet")
        paths.append(str(folder / "val" / "images" / file))
        labels.append(numbers[wnid])
    if len(paths) != (expected := _TINY_TEST * len(wnids)):
        raise damaged(annotations, f"{expected} lines", str(len(paths)), "tiny-imagenet")
    return read_images(paths, (3, _TINY_SIDE, _TINY_SIDE), exact=True), torch.tensor(labels)


def _read_lines(path: Path) -> list[str]:
    if not path.is_file():
        raise missing(path, "a list of the data set's layout", "tiny-imagenet")
    return path.read_text().splitlines()


def _imagenet_files(folder: Path, classes: list[str], expected: int | None) -> Files:
    for name in classes:
        if not (folder / name).is_dir():
            raise missing(folder / name, "a class folder", "imagenet")
    files = class_files(folder, classes)
    if expected is not None and len(files[0]) != expected:
        raise damaged(folder, f"{expected} images", str(len(files[0])), "imagenet")
    return files
