"""Folds for choosing hyper-parameters: train and validation, divided anew; the test rows stay out."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from tailormix.data.series import WindowSplit
from tailormix.data.splits import MemorySplit
from tailormix.data.streaming import StreamSplit

if TYPE_CHECKING:
    from torch import Tensor

    from tailormix.data.splits import DataSplits, Split


def fold_splits(splits: DataSplits, fold: str, seed: int) -> DataSplits:
    """Train and validation of one fold; the test split is empty, so that nothing can be evaluated on it.

    Classes: the rows of train and validation together in K stratified folds, one of which validates (the
    paper's 90/10 is K = 10). Tables: K folds of the shuffled rows; of the others the first train, as many as
    before, and all the rest validates. Series: K folds of the training windows, in the order of time; of the
    others the first two thirds train, the last third validates. Inputs keep their scale, and training rows
    their augmentation.
    """
    number, folds = parse_fold(fold)
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
        train=_take(train, train, validation, kept),
        validation=_take(validation, train, validation, held),
        test=_take(splits.test, train, validation, held[:0]),
        shifts={},
    )


def parse_fold(text: str) -> tuple[int, int]:
    """The two numbers of ``k/K``: the k-th (from 1) of K folds.

    >>> parse_fold("2/10")
    (2, 10)
    >>> parse_fold("0/4")
    Traceback (most recent call last):
    ValueError: fold must be like 1/10, from 1/K to K/K with K >= 2, got '0/4'
    """
    matched = re.fullmatch(r"([0-9]+)/([0-9]+)", str(text))
    number, folds = (int(matched[1]), int(matched[2])) if matched else (0, 0)
    if not (1 <= number <= folds and folds >= 2):
        raise ValueError(f"fold must be like 1/10, from 1/K to K/K with K >= 2, got {text!r}")
    return number, folds


def stratified_fold(labels: Tensor, number: int, folds: int, seed: int) -> tuple[Tensor, Tensor]:
    """(train, validation) positions: shuffled rows, dealt to the folds class by class.

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


def _take(like: Split, train: Split, validation: Split, rows: Tensor) -> Split:
    """The rows at these positions of train followed by validation, with the transform of ``like``."""
    both = (train, validation)
    ids = torch.cat([split.ids for split in both])[rows]
    if isinstance(like, WindowSplit):
        return replace(like, ids=ids)
    targets = torch.cat([split.targets for split in both])[rows]
    if isinstance(like, StreamSplit):
        paths = [path for split in both if isinstance(split, StreamSplit) for path in split.paths]
        return replace(like, paths=tuple(paths[row] for row in rows.tolist()), targets=targets, ids=ids)
    if isinstance(like, MemorySplit):
        inputs = torch.cat([split.inputs for split in both if isinstance(split, MemorySplit)])[rows]
        return replace(like, inputs=inputs, targets=targets, ids=ids)
    raise TypeError(f"fold needs splits in memory, of files or of windows, got {type(like).__name__}")
