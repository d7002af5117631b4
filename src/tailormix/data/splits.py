"""Train, validation and test: what every split offers, splits in memory, and how rows are divided."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, Protocol, final

import torch

from tailormix import checks
from tailormix.data.files.location import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from torch import Tensor

    from tailormix.data.preprocessing import Preprocessing

    #: index batches, each with the seed of its augmentation
    BatchPlan = Iterable[tuple[Tensor, int]]

Task = Literal["classification", "regression"]
#: ``clean`` is leak-proof; ``as-published`` repeats the released code's splits and its scaling over all rows
SplitProtocol = Literal["clean", "as-published"]


class Transform(Protocol):
    """What makes inputs of stored rows, batch by batch."""

    def __call__(self, rows: Tensor, generator: torch.Generator | None = None, /) -> Tensor:
        """Return the inputs of these rows; random draws come from the generator."""

    def to(self, device: torch.device | str) -> Transform:
        """Return the transform on ``device``."""


class Split(Protocol):
    """Rows of a data set, addressed by their position in the split, 0 … len - 1."""

    @property
    def ids(self) -> Tensor:
        """Numbers of the rows in the data set as published, (n,): they identify a row across splits."""

    @property
    def targets(self) -> Tensor:
        """All targets: class indices (n,) or real values (n, outputs)."""

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

        A loop that was stopped resumes anywhere: it passes the rest of its plan.
        """

    def to(self, device: torch.device | str) -> Split:
        """Return the split with its tensors, and so its batches, on ``device``."""


@dataclass(frozen=True)
class DataSplits:
    """Train, validation and test of one data set; those that a data set does not have are empty.

    ``outputs`` is the number of values a model predicts: the classes, or the target's width.
    ``target_scale`` (outputs,) turns scaled regression targets back into the published units.
    ``target_units`` is (centre, spread), each (outputs,), where targets were standardised for training only:
    results and predictions are in the user's units, y · spread + centre. ``preprocessing`` makes the inputs
    of these splits from raw ones. ``notes`` are sentences for the user on what was decided when the data were
    read. ``shifts`` are further test parts by name: rows of another distribution, evaluated apart from
    ``test``. The targets of a part are all -1 where its inputs belong to no class of the training rows.
    """

    name: str
    task: Task
    train: Split
    validation: Split
    test: Split
    outputs: int
    class_names: tuple[str, ...] = ()
    target_scale: Tensor | None = None
    target_units: tuple[Tensor, Tensor] | None = None
    preprocessing: Preprocessing | None = None
    notes: tuple[str, ...] = ()
    shifts: Mapping[str, Split] = field(default_factory=lambda: MappingProxyType({}))

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
        splits = {"train": self.train, "validation": self.validation, "test": self.test}
        return {name: fingerprint(split.ids) for name, split in splits.items()}

    def to(self, device: torch.device | str) -> DataSplits:
        """Return the record with all its tensors on ``device``; the preprocessing stays where it is."""
        scale = None if self.target_scale is None else self.target_scale.to(device)
        units = self.target_units and (self.target_units[0].to(device), self.target_units[1].to(device))
        train, validation, test = (split.to(device) for split in (self.train, self.validation, self.test))
        return replace(
            self,
            train=train,
            validation=validation,
            test=test,
            target_scale=scale,
            target_units=units,
            shifts={name: split.to(device) for name, split in self.shifts.items()},
        )


@final
@dataclass(frozen=True, eq=False)
class MemorySplit:
    """Inputs (n, ...) and targets as tensors; images stay uint8, texts tokens, until they are read.

    >>> split = MemorySplit(torch.eye(3), torch.tensor([0, 1, 2]), torch.tensor([7, 8, 9]))
    >>> x, y = split.batch(torch.tensor([2, 2]))
    >>> y.tolist()
    [2, 2]
    """

    inputs: Tensor
    targets: Tensor
    ids: Tensor
    transform: Transform | None = None

    def __post_init__(self) -> None:
        if not len(self.inputs) == len(self.targets) == len(self.ids):
            raise ValueError(
                f"inputs, targets and ids must have equal lengths, got {len(self.inputs)}, "
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
        for indices, seed in plan:
            yield self.batch(indices, torch.Generator().manual_seed(seed))

    def to(self, device: torch.device | str) -> MemorySplit:
        """Return the split on ``device``."""
        moved = None if self.transform is None else self.transform.to(device)
        return MemorySplit(self.inputs.to(device), self.targets.to(device), self.ids.to(device), moved)


@final
@dataclass(frozen=True, eq=False)
class LazySplit:
    """A split that ``make`` makes anew for each pass over its batches, and that nobody keeps afterwards.

    Good for test parts that cost much memory and are read once.

    >>> made = MemorySplit(torch.eye(3), torch.tensor([0, 1, 2]), torch.tensor([7, 8, 9]))
    >>> split = LazySplit(made.targets, made.ids, made.input_shape, lambda: made)
    >>> len(split), [y.tolist() for _, y in split.batches([(torch.tensor([2]), 0)])]
    (3, [[2]])
    """

    targets: Tensor
    ids: Tensor
    input_shape: tuple[int, ...]
    make: Callable[[], Split]

    def __len__(self) -> int:
        return len(self.ids)

    def batch(self, indices: Tensor, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
        """Return (x, y) of the rows at positions ``indices``; the whole split is made for it."""
        return self.make().batch(indices, generator)

    def batches(self, plan: BatchPlan, workers: int = 0) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the batches of the plan."""
        return self.make().batches(plan, workers)

    def to(self, device: torch.device | str) -> LazySplit:
        """Return the split that moves to ``device`` when it is made."""
        moved = self.targets.to(device), self.ids.to(device)
        return LazySplit(*moved, self.input_shape, lambda: self.make().to(device))


def fingerprint(ids: Tensor) -> str:
    """SHA-256 of the ids, as little-endian 64-bit integers.

    >>> fingerprint(torch.tensor([0, 1]))[:12]
    '9d34149fbd1f'
    """
    return hashlib.sha256(ids.to("cpu", torch.int64).numpy().astype("<i8").tobytes()).hexdigest()


def hold_out(n: int, size: int, seed: int, labels: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Divide {0 … n - 1} into (kept, held), both in increasing order, ``size`` of them held out.

    One seeded order of the rows is cut in two, so no row can be in both. With ``labels`` (n,) each
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


def train_rows(labels: Tensor, seed: int, validation: float, limit: int | None) -> tuple[Tensor, Tensor]:
    """Stratified (train, validation) rows: at most ``limit`` of all rows, ``validation`` of these held out.

    The rows beyond the limit are in neither.
    """
    rows = torch.arange(len(labels))
    if limit is not None and checks.integer("limit", limit, at_least=1) < len(labels):
        rows = hold_out(len(labels), limit, seed, labels)[1]
    kept, held = hold_out(len(rows), share("validation", validation, len(rows)), seed, labels[rows])
    return rows[kept], rows[held]


def three_ways(
    n: int, seed: int, validation: float, test: float, labels: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Rows of train, validation and test, where no test set is published; shares are of all rows."""
    rest, tested = hold_out(n, share("test", test, n), seed, labels)
    size = min(share("validation", validation, n), len(rest))
    kept, held = hold_out(len(rest), size, seed, None if labels is None else labels[rest])
    return rest[kept], rest[held], tested


def check_labels(labels: Tensor, num_classes: int, path: Path) -> Tensor:
    """Return labels as int64 if all lie in 0 … num_classes - 1.

    >>> check_labels(torch.tensor([0, 7]), 3, "a.bin")
    Traceback (most recent call last):
    tailormix.data.files.location.DataError: wrong labels in a.bin: expected 0 to 2, got 7 in row 1
    """
    labels = labels.to(torch.int64)
    wrong = ((labels < 0) | (labels >= num_classes)).nonzero()
    if len(wrong):
        row = int(wrong[0])
        raise DataError(
            f"wrong labels in {path}: expected 0 to {num_classes - 1}, got {int(labels[row])} in row {row}"
        )
    return labels
