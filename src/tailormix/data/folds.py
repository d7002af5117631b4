"""Folds for choosing hyper-parameters: the rows of train and validation, cut anew; the test rows stay out."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from tailormix.data.series import WindowSplit

if TYPE_CHECKING:
    from torch import Tensor

    from tailormix.data.splits import DataSplits, Split


#: fields of a split that hold one entry a row
ROWS = ("inputs", "paths", "targets", "ids")


def fold_of(text: str) -> tuple[int, int]:
    """The two numbers of ``k/K``: the k-th (from 1) of K folds.

    >>> fold_of("2/10")
    (2, 10)
    >>> fold_of("0/4")
    Traceback (most recent call last):
    ValueError: fold must be like 1/10, from 1/K to K/K with K >= 2, got '0/4'
    """
    matched = re.fullmatch(r"([0-9]+)/([0-9]+)", str(text))
    number, folds = (int(matched[1]), int(matched[2])) if matched else (0, 0)
    if not (1 <= number <= folds and folds >= 2):
        raise ValueError(f"fold must be like 1/10, from 1/K to K/K with K >= 2, got {text!r}")
    return number, folds


def fold_splits(splits: DataSplits, fold: str, seed: int) -> DataSplits:
    """Train and validation of one fold; the test split is empty, so that nothing can be judged on it.

    Classes: the rows of train and validation together in K stratified folds, one of which validates (the
    paper's 90/10 is K = 10). Tables: K folds of the shuffled rows; of the others the first train, as many as
    before, and all the rest validates. Series: K folds of the training windows, in the order of time; of the
    others the first two thirds train, the last third validates. Inputs keep their scale, and training rows
    their augmentation.
    """
    number, folds = fold_of(fold)
    train, validation = splits.train, splits.validation
    size = len(train) if isinstance(train, WindowSplit) else len(train) + len(validation)
    if size < folds:
        raise ValueError(f"fold must have K <= {size}, the rows to share out, got {fold!r}")
    if isinstance(train, WindowSplit):
        kept, held = series_fold(size, number, folds)
    elif splits.task == "classification":
        labels = torch.cat([train.targets, validation.targets])
        kept, held = stratified_fold(labels, number, folds, seed)
    else:
        kept, held = table_fold(size, number, folds, len(train), seed)
    return replace(
        splits,
        train=_rows(train, train, validation, kept),
        validation=_rows(validation, train, validation, held),
        test=_rows(splits.test, train, validation, held[:0]),
    )


def stratified_fold(labels: Tensor, number: int, folds: int, seed: int) -> tuple[Tensor, Tensor]:
    """(train, validation) positions: shuffled rows, dealt out to the folds class by class.

    >>> kept, held = stratified_fold(torch.tensor([0, 0, 0, 0, 1, 1, 1, 1]), 1, 4, seed=0)
    >>> len(kept), (held < 4).sum().item()
    (6, 1)
    """
    order = _shuffled(len(labels), seed)
    order = order[torch.argsort(labels[order], stable=True)]
    mine = torch.arange(len(labels)) % folds == number - 1
    return order[~mine].sort().values, order[mine].sort().values


def table_fold(size: int, number: int, folds: int, train: int, seed: int) -> tuple[Tensor, Tensor]:
    """(train, validation) positions: outside the fold the first ``train`` rows, and all that is left."""
    order = _shuffled(size, seed)
    others, fold = _without(order, number, folds)
    return others[:train], torch.cat([others[train:], fold])


def series_fold(size: int, number: int, folds: int) -> tuple[Tensor, Tensor]:
    """(train, validation) positions: outside the fold two thirds and one third, in the order of time.

    >>> series_fold(8, 1, 4)
    (tensor([2, 3, 4, 5]), tensor([6, 7]))
    """
    others, _ = _without(torch.arange(size), number, folds)
    cut = 2 * len(others) // 3
    return others[:cut], others[cut:]


def _without(order: Tensor, number: int, folds: int) -> tuple[Tensor, Tensor]:
    """All folds but one, and that one; the first folds are one row longer where they cannot be equal."""
    parts = list(order.tensor_split(folds))
    fold = parts.pop(number - 1)
    return torch.cat(parts), fold


def _shuffled(size: int, seed: int) -> Tensor:
    return torch.randperm(size, generator=torch.Generator().manual_seed(seed))


def _rows(like: Split, train: Split, validation: Split, rows: Tensor) -> Any:
    """A split with the transform of ``like`` and the rows at these positions of train, then validation."""
    split: Any = like
    names = {field.name for field in dataclasses.fields(split)}.intersection(ROWS)
    return replace(split, **{name: _taken(train, validation, name, rows) for name in names})


def _taken(train: Split, validation: Split, name: str, rows: Tensor) -> Tensor | tuple[str, ...]:
    first, second = getattr(train, name), getattr(validation, name)
    if isinstance(first, tuple):
        both = first + second
        return tuple(both[row] for row in rows.tolist())
    taken: Tensor = torch.cat([first, second])[rows]
    return taken
