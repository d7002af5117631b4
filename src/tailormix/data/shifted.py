"""Test sets under covariate shift: CIFAR-C, ImageNet-A and ImageNet-R."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from tailormix import checks
from tailormix.data.augment import ImageTransform, normalisation
from tailormix.data.files.location import damaged, missing
from tailormix.data.images import CIFAR10_CLASSES, CIFAR10_CONSTANTS, CIFAR100_CONSTANTS, cifar100_class_names
from tailormix.data.splits import DataSplits, MemorySplit, checked_labels, empty_like
from tailormix.data.streaming import class_files, file_split, subfolders

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tailormix.data.splits import Normalisation


#: file → (CIFAR-10-C, CIFAR-100-C)
CIFAR_C_MD5: dict[str, tuple[str, str]] = {
    "brightness": ("0a81ef75e0b523c3383219c330a85d48", "f22d7195aecd6abb541e27fca230c171"),
    "contrast": ("3c8262171c51307f916c30a3308235a8", "322bb385f1d05154ee197ca16535f71e"),
    "defocus_blur": ("7d1322666342a0702b1957e92f6254bc", "d923e3d9c585a27f0956e2f2ad832564"),
    "elastic_transform": ("9421657c6cd452429cf6ce96cc412b5f", "a0792bd6581f6810878be71acedfc65a"),
    "fog": ("7b397314b5670f825465fbcd1f6e9ccd", "4efc7ebd5e82b028bdbe13048e3ea564"),
    "frost": ("31f6ab3bce1d9934abfb0cc13656f141", "3a39c6823bdfaa0bf8b12fe7004b8117"),
    "gaussian_blur": ("c33370155bc9b055fb4a89113d3c559d", "5204ba0d557839772ef5a4196a052c3e"),
    "gaussian_noise": ("ecaf8b9a2399ffeda7680934c33405fd", "ecc4d366eac432bdf25c024086f5e97d"),
    "glass_blur": ("7361fb4019269e02dbf6925f083e8629", "0bf384f38e5ccbf8dd479d9059b913e1"),
    "impulse_noise": ("2090e01c83519ec51427e65116af6b1a", "3b3c210ddfa0b5cb918ff4537a429fef"),
    "jpeg_compression": ("2b9cc4c864e0193bb64db8d7728f8187", "c851b7f1324e1d2ffddeb76920576d11"),
    "motion_blur": ("fffa5f852ff7ad299cfe8a7643f090f4", "732a7e2e54152ff97c742d4c388c5516"),
    "pixelate": ("0f14f7e2db14288304e1de10df16832f", "96c00c60f144539e14cffb02ddbd0640"),
    "saturate": ("1cfae0964219c5102abbb883e538cc56", "c0697e9fdd646916a61e9c312c77bf6b"),
    "shot_noise": ("3a7239bb118894f013d9bf1984be7f11", "b0a1fa6e1e465a747c1b204b1914048a"),
    "snow": ("bb238de8555123da9c282dea23bd6e55", "0237be164583af146b7b144e73b43465"),
    "spatter": ("8a5a3903a7f8f65b59501a6093b4311e", "12ccf41d62564d36e1f6a6ada5022728"),
    "speckle_noise": ("ef00b87611792b00df09c0b0237a1e30", "e3f215b1a0f9fd9fd6f0d1cf94a7ce99"),
    "zoom_blur": ("6ea8e63f1c5cdee1517533840641641b", "0204613400c034a81c4830d5df81cb82"),
    "labels": ("c439b113295ed5254878798ffe28fd54", "bb4026e9ce52996b95f439544568cdb2"),
}

CORRUPTIONS: tuple[str, ...] = tuple(name for name in CIFAR_C_MD5 if name != "labels")

_IMAGES = 10_000
_SEVERITIES = 5


def corrupted_splits(
    name: str,
    folder: Path,
    corruption: str,
    severity: int,
    classes: Sequence[str],
    constants: Normalisation,
) -> DataSplits:
    """Test split of one corruption (or of ``all`` 19 behind each other) at one severity, 1 to 5.

    A row's id is 50 000 · (number of the corruption) + its row in the file.
    """
    checks.known("corruption", corruption, ("all", *CORRUPTIONS))
    if checks.integer("severity", severity, at_least=1) > _SEVERITIES:
        raise ValueError(f"severity must be <= {_SEVERITIES}, got {severity}")
    chosen = CORRUPTIONS if corruption == "all" else (corruption,)
    rows = slice((severity - 1) * _IMAGES, severity * _IMAGES)
    labels_path = folder / "labels.npy"
    labels = _array(labels_path, (_IMAGES * _SEVERITIES,), name)[rows]
    targets = checked_labels(torch.from_numpy(labels.astype(np.int64)), len(classes), str(labels_path))
    shape = (_IMAGES * _SEVERITIES, 32, 32, 3)
    images = np.concatenate([_array(folder / f"{kind}.npy", shape, name)[rows] for kind in chosen])
    first = torch.tensor([CORRUPTIONS.index(kind) * _IMAGES * _SEVERITIES + rows.start for kind in chosen])
    test = MemorySplit(
        torch.from_numpy(np.ascontiguousarray(images.transpose(0, 3, 1, 2))),
        targets.repeat(len(chosen)),
        (first[:, None] + torch.arange(_IMAGES)).flatten(),
        ImageTransform(*normalisation(*constants)),
    )
    none = empty_like(test)
    return DataSplits(name, "classification", none, none, test, len(classes), tuple(classes))


def _array(path: Path, shape: tuple[int, ...], name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    expected = f"uint8 array of shape {shape}"
    if not path.is_file():
        raise missing(path, expected, name)
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise damaged(path, expected, f"an unreadable file ({error})", name) from error
    if array.shape != shape or array.dtype != np.uint8:
        raise damaged(path, expected, f"{array.dtype} of shape {array.shape}", name)
    return np.asarray(array)


_OUTPUTS = 1000


def subset_splits(
    name: str, folder: Path, numbers: Sequence[int], images: int | None, image_size: int
) -> DataSplits:
    """Test split of the class folders in ``folder``, whose k-th wnid in order is class ``numbers[k]``.

    Both ImageNet's class numbers and ``numbers`` follow the order of the wnids, so all of the folders must be
    there. ``images`` is the number of files that the owners publish, None for a slice.
    """
    if not folder.is_dir():
        raise missing(folder, f"a folder of {len(numbers)} class folders", name)
    classes = subfolders(folder)
    if len(classes) != len(numbers):
        raise damaged(folder, f"{len(numbers)} class folders", str(len(classes)), name)
    files = class_files(folder, classes, numbers)
    if images is not None and len(files[0]) != images:
        raise damaged(folder, f"{images} images", str(len(files[0])), name)
    test = file_split(files, torch.arange(len(files[0])), 0, image_size, augment=False)
    none = file_split(files, torch.arange(0), 0, image_size, augment=False)
    return DataSplits(name, "classification", none, none, test, _OUTPUTS)


def load_cifar10_c(root: Path, *, corruption: str = "all", severity: int = 1) -> DataSplits:
    """Read 10 000 images of one corruption, or 190 000 of all; nothing depends on the seed."""
    return corrupted_splits(
        "cifar10-c", root / "CIFAR-10-C", corruption, severity, CIFAR10_CLASSES, CIFAR10_CONSTANTS
    )


def load_cifar100_c(root: Path, *, corruption: str = "all", severity: int = 1) -> DataSplits:
    """Read 10 000 images of one corruption, or 190 000 of all; nothing depends on the seed."""
    folder = root / "CIFAR-100-C"
    return corrupted_splits(
        "cifar100-c", folder, corruption, severity, cifar100_class_names(root), CIFAR100_CONSTANTS
    )


IMAGENET_A_FOLDER, IMAGENET_A_IMAGES = "imagenet-a", 7_500

#: the classes among ImageNet's 1000, in the order of their wnids
# fmt: off
IMAGENET_A_NUMBERS = (
    6, 11, 13, 15, 17, 22, 23, 27, 30, 37, 39, 42, 47, 50, 57, 70, 71, 76, 79, 89, 90, 94, 96, 97, 99,
    105, 107, 108, 110, 113, 124, 125, 130, 132, 143, 144, 150, 151, 207, 234, 235, 254, 277, 283, 287,
    291, 295, 298, 301, 306, 307, 308, 309, 310, 311, 313, 314, 315, 317, 319, 323, 324, 326, 327, 330,
    334, 335, 336, 347, 361, 363, 372, 378, 386, 397, 400, 401, 402, 404, 407, 411, 416, 417, 420, 425,
    428, 430, 437, 438, 445, 456, 457, 461, 462, 470, 472, 483, 486, 488, 492, 496, 514, 516, 528, 530,
    539, 542, 543, 549, 552, 557, 561, 562, 569, 572, 573, 575, 579, 589, 606, 607, 609, 614, 626, 627,
    640, 641, 642, 643, 658, 668, 677, 682, 684, 687, 701, 704, 719, 736, 746, 749, 752, 758, 763, 765,
    768, 773, 774, 776, 779, 780, 786, 792, 797, 802, 803, 804, 813, 815, 820, 823, 831, 833, 835, 839,
    845, 847, 850, 859, 862, 870, 879, 880, 888, 890, 897, 900, 907, 913, 924, 932, 933, 934, 937, 943,
    945, 947, 951, 954, 956, 957, 959, 971, 972, 980, 981, 984, 986, 987, 988,
)
# fmt: on


def load_imagenet_a(
    root: Path,
    *,
    image_size: int = 224,
    slice: str | None = None,  # noqa: A002 - the option's name on the command line
) -> DataSplits:
    """Read the images as a test split of 1000 outputs; nothing depends on the seed.

    ``slice`` names another folder of all 200 classes with some of the images.
    """
    name = f"imagenet-a ({slice})" if slice else "imagenet-a"
    return subset_splits(
        name,
        root / (slice or IMAGENET_A_FOLDER),
        IMAGENET_A_NUMBERS,
        None if slice else IMAGENET_A_IMAGES,
        image_size,
    )


IMAGENET_R_FOLDER, IMAGENET_R_IMAGES = "imagenet-r", 30_000

#: the classes among ImageNet's 1000, in the order of their wnids
# fmt: off
IMAGENET_R_NUMBERS = (
    1, 2, 4, 6, 8, 9, 11, 13, 22, 23, 26, 29, 31, 39, 47, 63, 71, 76, 79, 84, 90, 94, 96, 97, 99, 100,
    105, 107, 113, 122, 125, 130, 132, 144, 145, 147, 148, 150, 151, 155, 160, 161, 162, 163, 171, 172,
    178, 187, 195, 199, 203, 207, 208, 219, 231, 232, 234, 235, 242, 245, 247, 250, 251, 254, 259, 260,
    263, 265, 267, 269, 276, 277, 281, 288, 289, 291, 292, 293, 296, 299, 301, 308, 309, 310, 311, 314,
    315, 319, 323, 327, 330, 334, 335, 337, 338, 340, 341, 344, 347, 353, 355, 361, 362, 365, 366, 367,
    368, 372, 388, 390, 393, 397, 401, 407, 413, 414, 425, 428, 430, 435, 437, 441, 447, 448, 457, 462,
    463, 469, 470, 471, 472, 476, 483, 487, 515, 546, 555, 558, 570, 579, 583, 587, 593, 594, 596, 609,
    613, 617, 621, 629, 637, 657, 658, 701, 717, 724, 763, 768, 774, 776, 779, 780, 787, 805, 812, 815,
    820, 824, 833, 847, 852, 866, 875, 883, 889, 895, 907, 928, 931, 932, 933, 934, 936, 937, 943, 945,
    947, 948, 949, 951, 953, 954, 957, 963, 965, 967, 980, 981, 983, 988,
)
# fmt: on


def load_imagenet_r(
    root: Path,
    *,
    image_size: int = 224,
    slice: str | None = None,  # noqa: A002 - the option's name on the command line
) -> DataSplits:
    """Read the images as a test split of 1000 outputs; nothing depends on the seed.

    ``slice`` names another folder of all 200 classes with some of the images.
    """
    name = f"imagenet-r ({slice})" if slice else "imagenet-r"
    return subset_splits(
        name,
        root / (slice or IMAGENET_R_FOLDER),
        IMAGENET_R_NUMBERS,
        None if slice else IMAGENET_R_IMAGES,
        image_size,
    )
