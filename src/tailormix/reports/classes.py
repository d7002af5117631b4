"""Results per class: who is taken for whom, how often a class is found, and how sure its predictions are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from tailormix.metrics.binning import sums_by_index

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from tailormix.metrics.inputs import ClassificationInputs

MOST_CLASSES = 20  # in a confusion matrix or a table; more are cut to those that matter most
MOST_COUNTED = 2000


@dataclass(frozen=True)
class ClassRow:
    """One class: true samples, recall, precision, and the mean confidence of predictions of it.

    Each is None where nothing belongs to it: no sample of this class, or no prediction of it.
    """

    name: str
    samples: int
    predicted: int
    recall: float | None
    precision: float | None
    confidence: float | None


@dataclass(frozen=True)
class Confusion:
    """Samples of one class that are taken for another, and their share of the class."""

    true: str
    predicted: str
    count: int
    share: float


@dataclass(frozen=True, eq=False)
class ClassResults:
    """Counts (C, C), true class by predicted class, and the sum of confidences by predicted class (C,)."""

    names: tuple[str, ...]
    confusion: Tensor
    confidence: Tensor

    @property
    def recall(self) -> Tensor:
        """Share of each class that is found (C,); NaN for a class without samples."""
        return self.confusion.diagonal() / self.confusion.sum(1)

    def rows(self) -> list[ClassRow]:
        """One row per class, in order."""
        samples, predicted = self.confusion.sum(1).tolist(), self.confusion.sum(0).tolist()
        right, sure = self.confusion.diagonal().tolist(), self.confidence.tolist()
        return [
            ClassRow(name, n, k, _share(hits, n), _share(hits, k), _share(total, k))
            for name, n, k, hits, total in zip(self.names, samples, predicted, right, sure, strict=True)
        ]

    def confused(self, most: int = MOST_CLASSES) -> list[Confusion]:
        """The most frequent confusions, the largest first."""
        errors = self.confusion - self.confusion.diagonal().diag()
        counts, places = errors.flatten().topk(min(most, errors.numel()))
        totals = self.confusion.sum(1).tolist()
        found = zip(
            counts.tolist(), (divmod(place, len(self.names)) for place in places.tolist()), strict=True
        )
        return [
            Confusion(self.names[true], self.names[said], count, count / totals[true])
            for count, (true, said) in found
            if count
        ]

    @property
    def small(self) -> bool:
        """Whether a page can show the whole matrix."""
        return len(self.names) <= MOST_CLASSES

    def matrix(self) -> list[dict[str, Any]]:
        """The matrix for a page: per true class its name, and its counts with their shares of the class."""
        totals = self.confusion.sum(1).clamp_min(1)[:, None]
        shares = (self.confusion / totals).tolist()
        return [
            {"name": name, "cells": list(zip(counts, row, strict=True))}
            for name, counts, row in zip(self.names, self.confusion.tolist(), shares, strict=True)
        ]


def class_results(inputs: ClassificationInputs, names: Sequence[str] = ()) -> ClassResults | None:
    """Count predictions by class; None for thousands of classes, whose matrix nobody could read.

    ``names`` that do not fit the number of classes are replaced by numbers.

    >>> from tailormix.metrics.inputs import classification_inputs
    >>> p = torch.tensor([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    >>> found = class_results(classification_inputs(p, torch.tensor([0, 1, 1])), ("cat", "dog"))
    >>> found.confusion.tolist(), found.rows()[1].recall, found.confused()[0].true
    ([[1, 0], [1, 1]], 0.5, 'dog')
    """
    classes = inputs.num_classes
    if classes > MOST_COUNTED:
        return None
    counts = torch.zeros(classes * classes, 1, dtype=torch.float64)
    confidence = torch.zeros(classes, 1, dtype=torch.float64)
    for _, chunk, targets in inputs.chunks():
        label = chunk.argmax(1)
        probabilities = chunk.softmax(1) if inputs.from_logits else chunk
        sure = probabilities.gather(1, label[:, None])[:, 0]
        counts += sums_by_index(targets * classes + label, torch.ones_like(sure), size=classes**2).cpu()
        confidence += sums_by_index(label, sure, size=classes).cpu()
    named = tuple(names) if len(names) == classes else tuple(map(str, range(classes)))
    return ClassResults(named, counts.view(classes, classes).long(), confidence[:, 0])


def pooled(parts: Sequence[ClassResults]) -> ClassResults:
    """The results of several seeds together, of all that have as many classes as the first."""
    first = parts[0]
    same = [part for part in parts if len(part.names) == len(first.names)]
    return ClassResults(
        first.names,
        torch.stack([part.confusion for part in same]).sum(0),
        torch.stack([part.confidence for part in same]).sum(0),
    )


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
