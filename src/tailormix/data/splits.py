"""Train, validation and test splits: the record, splits in memory, and how rows are divided."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Protocol, final

import numpy as np
import torch

from tailormix import checks
from tailormix.data.augment import ImageTransform, normalisation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from torch import Tensor

    #: index batches, each with the seed of its augmentation
    BatchPlan = Iterable[tuple[Tensor, int]]
    Normalisation = tuple[Sequence[float], Sequence[float]]

Task = Literal["classification", "regression"]
#: ``clean`` is leak-proof; ``as-published`` repeats the released code's splits and its scaling over all rows
Setting = Literal["clean", "as-published"]


class Split(Protocol):
    """Rows of a data set. A row's *position* in the split, 0 … len - 1, is how it is asked for.

    ``ids`` (n,) are the rows' numbers in the data set as published: they identify a row across splits.
    ``targets`` are all targets, (n,) class indices or (n, outputs) real values.
    """

    @property
    def ids(self) -> Tensor:
        """Numbers of the rows in the data set as published, (n,)."""

    @property
    def targets(self) -> Tensor:
        """All targets, in the order of the positions."""

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one input."""

    def __len__(self) -> int: ...

    def batch(self, indices: Tensor, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
        """Return (x, y) of the rows at positions ``indices``, which may repeat.

        x is augmented with draws of ``generator`` (a CPU generator) where the split augments: equal
        generator states give equal bits, on any number of workers.
        """

    def batches(self, plan: BatchPlan, workers: int = 0) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield ``batch(indices, generator seeded with seed)`` for each (indices, seed) of the plan.

        A loop that was stopped goes on anywhere: it passes the rest of its plan.
        """

    def to(self, device: torch.device | str) -> Split:
        """Return the split with its tensors, and so its batches, on ``device``."""


@dataclass(frozen=True)
class DataSplits:
    """Train, validation and test of one data set; those that a data set lacks are empty.

    ``outputs`` is the number of values a model predicts: the classes, or the target's width.
    ``target_scale`` (outputs,) turns scaled regression targets back into the published units.
    """

    name: str
    task: Task
    train: Split
    validation: Split
    test: Split
    outputs: int
    class_names: tuple[str, ...] = ()
    target_scale: Tensor | None = None

    @property
    def num_classes(self) -> int | None:
        """The number of classes; None for regression."""
        return self.outputs if self.task == "classification" else None

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one input."""
        return self.test.input_shape

    @property
    def fingerprints(self) -> dict[str, str]:
        """SHA-256 of each split's ids: equal fingerprints mean the same rows in the same order."""
        return {
            "train": fingerprint(self.train.ids),
            "validation": fingerprint(self.validation.ids),
            "test": fingerprint(self.test.ids),
        }

    def to(self, device: torch.device | str) -> DataSplits:
        """Return the record with all its tensors on ``device``."""
        scale = None if self.target_scale is None else self.target_scale.to(device)
        train, validation, test = (split.to(device) for split in (self.train, self.validation, self.test))
        return replace(self, train=train, validation=validation, test=test, target_scale=scale)


TOGETHER, ALIGNMENT = 2**20, 64  # bytes that a cache holds, and that memory begins at multiples of


@final
@dataclass(frozen=True, eq=False)
class MemorySplit:
    """Inputs (n, ...) and targets as tensors; images stay uint8 and are transformed in batches.

    >>> split = MemorySplit(torch.eye(3), torch.tensor([0, 1, 2]), torch.tensor([7, 8, 9]))
    >>> x, y = split.batch(torch.tensor([2, 2]))
    >>> y.tolist()
    [2, 2]
    """

    inputs: Tensor
    targets: Tensor
    ids: Tensor
    transform: ImageTransform | None = None

    def __post_init__(self) -> None:
        if not len(self.inputs) == len(self.targets) == len(self.ids):
            raise ValueError(
                f"inputs, targets and ids must be equally many, got {len(self.inputs)}, "
                f"{len(self.targets)} and {len(self.ids)}"
            )

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one input."""
        return tuple(self.inputs.shape[1:])

    def __len__(self) -> int:
        return len(self.ids)

    def batch(self, indices: Tensor, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
        """Return (x, y) of the rows at positions ``indices``; see :class:`Split`."""
        indices = indices.to(self.inputs.device, non_blocking=True)
        x, y = self.inputs.index_select(0, indices), self.targets.index_select(0, indices)
        return (x if self.transform is None else self.transform(x, generator)), y

    def batches(self, plan: BatchPlan, workers: int = 0) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the batches of the plan; workers would only slow it down."""
        del workers
        if self.transform is None:
            yield from self._plain(plan)
            return
        for indices, seed in plan:
            yield self.batch(indices, torch.Generator().manual_seed(seed))

    def _plain(self, plan: BatchPlan) -> Iterator[tuple[Tensor, Tensor]]:
        """Likewise for rows as they are: many small batches are taken at once, and cut apart."""
        rows = [indices for indices, _ in plan]
        together = self._together([len(indices) for indices in rows])
        for first in range(0, len(rows), together):
            chunk = rows[first : first + together]
            sizes = [len(indices) for indices in chunk]
            x, y = self.batch(torch.cat(chunk))
            yield from zip(torch.split(x, sizes), torch.split(y, sizes), strict=True)

    def _together(self, sizes: list[int]) -> int:
        """How many batches to take at once: one, unless all would begin where memory of their own does.

        Elsewhere matrix products may round otherwise, and then a run that goes on from the middle of an epoch
        would not end like one that was never stopped.
        """
        size = max(sizes, default=0)
        widths = [math.prod(each.shape[1:]) * each.itemsize for each in (self.inputs, self.targets)]
        if any(each != size for each in sizes[:-1]) or any(size * width % ALIGNMENT for width in widths):
            return 1
        return max(TOGETHER // max(size * sum(widths), 1), 1)

    def to(self, device: torch.device | str) -> MemorySplit:
        """Return the split on ``device``."""
        moved = None if self.transform is None else self.transform.to(device)
        return MemorySplit(self.inputs.to(device), self.targets.to(device), self.ids.to(device), moved)


def fingerprint(ids: Tensor) -> str:
    """SHA-256 of the ids, as little-endian 64-bit integers.

    >>> fingerprint(torch.tensor([0, 1]))[:12]
    '9d34149fbd1f'
    """
    return hashlib.sha256(ids.to("cpu", torch.int64).numpy().astype("<i8").tobytes()).hexdigest()


def hold_out(n: int, size: int, seed: int, labels: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Cut {0 … n - 1} into (kept, held), both in increasing order, ``size`` of them held.

    One seeded order of the rows is cut in two, so nothing can be in both parts. With ``labels`` (n,) each
    class gives its share: ⌊size · n_c / n⌋, and the classes with the largest remainders one more.

    >>> kept, held = hold_out(6, 2, seed=0, labels=torch.tensor([0, 0, 0, 1, 1, 1]))
    >>> len(kept), (held < 3).sum().item()
    (4, 1)
    """
    checks.integer("size", size, at_least=0)
    if size > n:
        raise ValueError(f"size must be <= {n} rows, got {size}")
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    if labels is None:
        chosen = torch.arange(n) < size
    else:
        order = order[torch.argsort(labels[order], stable=True)]  # class by class, shuffled within each
        _, counts = torch.unique(labels, return_counts=True)
        starts = counts.cumsum(0) - counts
        rank = torch.arange(n) - torch.repeat_interleave(starts, counts)
        chosen = rank < torch.repeat_interleave(_shares(counts, size), counts)
    return order[~chosen].sort().values, order[chosen].sort().values


def share(name: str, value: float, n: int) -> int:
    """Return the number of rows that a fraction of n stands for.

    >>> share("validation", 0.1, 50_000)
    5000
    """
    return round(checks.fraction(name, value) * n)


def _shares(counts: Tensor, size: int) -> Tensor:
    """Largest-remainder shares of ``size`` in proportion to ``counts``, in whole-number arithmetic."""
    n = max(int(counts.sum()), 1)
    whole, rest = counts * size // n, counts * size % n
    missing = size - int(whole.sum())
    whole[torch.argsort(rest, descending=True, stable=True)[:missing]] += 1
    return whole


def image_splits(
    name: str,
    train: tuple[Tensor, Tensor],
    test: tuple[Tensor, Tensor],
    classes: Sequence[str],
    constants: Normalisation,
    *,
    seed: int,
    validation: float,
    limit: int | None,
    augment: bool,
    pad: int = 4,
    flip: bool = True,
) -> DataSplits:
    """Split uint8 images whose owners publish a test set; validation is cut from the training rows.

    Validation and test are never augmented. ``limit`` keeps that many training and validation rows. Test ids
    go on where the training ids end.
    """
    (images, labels), (test_images, test_labels) = train, test
    kept, held = train_rows(labels, seed, validation, limit)
    scale, shift = normalisation(*constants)
    plain = ImageTransform(scale, shift)
    changing = ImageTransform(scale, shift, pad=pad, flip=flip) if augment else plain
    first = len(labels)
    return DataSplits(
        name,
        "classification",
        train=MemorySplit(images[kept], labels[kept], kept, changing),
        validation=MemorySplit(images[held], labels[held], held, plain),
        test=MemorySplit(test_images, test_labels, torch.arange(first, first + len(test_labels)), plain),
        outputs=len(classes),
        class_names=tuple(classes),
    )


def train_rows(labels: Tensor, seed: int, validation: float, limit: int | None) -> tuple[Tensor, Tensor]:
    """Stratified (train, validation) rows: at most ``limit`` of all rows, ``validation`` of these held out.

    The rows beyond the limit are in neither part.
    """
    rows = torch.arange(len(labels))
    if limit is not None and checks.integer("limit", limit, at_least=1) < len(labels):
        rows = hold_out(len(labels), limit, seed, labels)[1]
    kept, held = hold_out(len(rows), share("validation", validation, len(rows)), seed, labels[rows])
    return rows[kept], rows[held]


def three_ways(
    n: int, seed: int, validation: float, test: float, labels: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Rows of train, validation and test, where nobody publishes a test set; shares are of all rows."""
    rest, tested = hold_out(n, share("test", test, n), seed, labels)
    size = min(share("validation", validation, n), len(rest))
    kept, held = hold_out(len(rest), size, seed, None if labels is None else labels[rest])
    return rest[kept], rest[held], tested


def empty_like(split: MemorySplit) -> MemorySplit:
    """Return a split of no rows, for data sets that lack one."""
    return MemorySplit(split.inputs[:0], split.targets[:0], split.ids[:0], split.transform)


def checked_labels(labels: Tensor, num_classes: int, where: str) -> Tensor:
    """Return labels as int64 if all lie in 0 … num_classes - 1.

    >>> checked_labels(torch.tensor([0, 7]), 3, "a.bin")
    Traceback (most recent call last):
    tailormix.data.files.location.DataError: wrong labels in a.bin: expected 0 to 2, got 7 in row 1
    """
    from tailormix.data.files.location import DataError

    labels = labels.to(torch.int64)
    wrong = ((labels < 0) | (labels >= num_classes)).nonzero()
    if len(wrong):
        row = int(wrong[0])
        raise DataError(
            f"wrong labels in {where}: expected 0 to {num_classes - 1}, got {int(labels[row])} in row {row}"
        )
    return labels


def as_images(pixels: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> Tensor:
    """Return a contiguous, writable uint8 tensor of ``pixels``, copied only where it must be."""
    return torch.from_numpy(np.require(pixels, requirements=["C", "W"]))
