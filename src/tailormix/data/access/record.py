"""The uniform record that a training loop works with, whatever the data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Protocol

from .splitting import fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import torch
    from torch import Tensor

    #: index batches, each with the seed of its augmentation
    BatchPlan = Iterable[tuple[Tensor, int]]

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
