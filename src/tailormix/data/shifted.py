"""Test sets under covariate shift: CIFAR-C, ImageNet-A and ImageNet-R."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from tailormix import checks
from tailormix.data.files.location import damaged, missing
from tailormix.data.files.published import CIFAR_C_MD5
from tailormix.data.images import CIFAR10_CLASSES, CIFAR10_MEAN_STD, CIFAR100_MEAN_STD, cifar100_class_names
from tailormix.data.pixels import ImageTransform, class_files, file_split, normalisation, subfolders
from tailormix.data.preprocessing.images import ImagePreprocessing, photographs
from tailormix.data.splits import DataSplits, MemorySplit, check_labels

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tailormix.data.pixels import MeanStd

CORRUPTIONS: tuple[str, ...] = tuple(name for name in CIFAR_C_MD5 if name != "labels")
_IMAGES, _SEVERITIES = 10_000, 5


def load_cifar10_c(root: Path, *, corruption: str = "all", severity: int = 1) -> DataSplits:
    """Read 10 000 images of one corruption, or 190 000 of all; nothing depends on the seed."""
    folder = root / "CIFAR-10-C"
    return corrupted_splits("cifar10-c", folder, corruption, severity, CIFAR10_CLASSES, CIFAR10_MEAN_STD)


def load_cifar100_c(root: Path, *, corruption: str = "all", severity: int = 1) -> DataSplits:
    """Read 10 000 images of one corruption, or 190 000 of all; nothing depends on the seed."""
    folder, classes = root / "CIFAR-100-C", cifar100_class_names(root)
    return corrupted_splits("cifar100-c", folder, corruption, severity, classes, CIFAR100_MEAN_STD)


def load_imagenet_a(
    root: Path,
    *,
    image_size: int = 224,
    slice: str | None = None,  # noqa: A002 - the option's name on the command line
) -> DataSplits:
    """Read 7 500 images as a test split of 1000 outputs; nothing depends on the seed.

    ``slice`` names another folder of all 200 classes with some of the images.
    """
    return subset_splits("imagenet-a", root, slice, IMAGENET_A_NUMBERS, 7_500, image_size)


def load_imagenet_r(
    root: Path,
    *,
    image_size: int = 224,
    slice: str | None = None,  # noqa: A002 - the option's name on the command line
) -> DataSplits:
    """Read 30 000 images as a test split of 1000 outputs; nothing depends on the seed.

    ``slice`` names another folder of all 200 classes with some of the images.
    """
    return subset_splits("imagenet-r", root, slice, IMAGENET_R_NUMBERS, 30_000, image_size)


def corrupted_splits(
    name: str, folder: Path, corruption: str, severity: int, classes: Sequence[str], mean_std: MeanStd
) -> DataSplits:
    """Test split of one corruption (or of ``all`` 19, one after another) at one severity, 1 to 5.

    The id of a row is 50 000 · (number of the corruption) + its row in the file.
    """
    checks.known("corruption", corruption, ("all", *CORRUPTIONS))
    if checks.integer("severity", severity, at_least=1) > _SEVERITIES:
        raise ValueError(f"severity must be <= {_SEVERITIES}, got {severity}")
    chosen = CORRUPTIONS if corruption == "all" else (corruption,)
    rows = slice((severity - 1) * _IMAGES, severity * _IMAGES)
    in_file = _IMAGES * _SEVERITIES
    labels_path = folder / "labels.npy"
    labels = torch.from_numpy(_read_array(labels_path, (in_file,), name)[rows].astype(np.int64))
    targets = check_labels(labels, len(classes), labels_path)
    shape = (in_file, 32, 32, 3)
    images = np.concatenate([_read_array(folder / f"{kind}.npy", shape, name)[rows] for kind in chosen])
    first = torch.tensor([CORRUPTIONS.index(kind) * in_file + rows.start for kind in chosen])
    test = MemorySplit(
        torch.from_numpy(np.ascontiguousarray(images.transpose(0, 3, 1, 2))),
        targets.repeat(len(chosen)),
        (first[:, None] + torch.arange(_IMAGES)).flatten(),
        ImageTransform(*normalisation(*mean_std)),
    )
    empty = MemorySplit(test.inputs[:0], test.targets[:0], test.ids[:0], test.transform)
    preprocessing = ImagePreprocessing(test.input_shape, *mean_std)
    return DataSplits(
        name, "classification", empty, empty, test, len(classes), tuple(classes), preprocessing=preprocessing
    )


def _read_array(
    path: Path, shape: tuple[int, ...], name: str
) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
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


def subset_splits(
    name: str, root: Path, part: str | None, numbers: Sequence[int], images: int, image_size: int
) -> DataSplits:
    """Test split of class folders of which the k-th wnid in order is class ``numbers[k]`` of 1000.

    The class numbers of ImageNet and ``numbers`` both follow the order of the wnids, so all of the folders
    must be there. ``images`` is the number of published files; the folder ``part`` may hold any number.
    """
    folder = root / (part or name)
    if not folder.is_dir():
        raise missing(folder, f"a folder of {len(numbers)} class folders", name)
    classes = subfolders(folder)
    if len(classes) != len(numbers):
        raise damaged(folder, f"{len(numbers)} class folders", str(len(classes)), name)
    files = class_files(folder, classes, numbers)
    if part is None and len(files[0]) != images:
        raise damaged(folder, f"{images} images", str(len(files[0])), name)
    test = file_split(files, torch.arange(len(files[0])), image_size)
    empty = file_split(files, torch.arange(0), image_size)
    return DataSplits(
        f"{name} ({part})" if part else name,
        "classification",
        empty,
        empty,
        test,
        1000,
        preprocessing=photographs(image_size),
    )


# The classes among the 1000 of ImageNet, in the order of their wnids.
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
