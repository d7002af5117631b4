"""Accuracy, negative log-likelihood and the Brier score: means over the samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailormix.metrics.inputs import classified
from tailormix.metrics.rows import rows

if TYPE_CHECKING:
    from tailormix.metrics.inputs import Array


def accuracy(
    predictions: Array, targets: Array, *, from_logits: bool = False, binary: str | None = None
) -> float:
    """(1/n) Σ_i [argmax_c p_ic = y_i], the first class where several share the maximum.

    ``predictions`` (n, C) or, with ``binary=``, (n,); ``targets`` (n,) class indices.

    >>> import torch
    >>> accuracy(torch.tensor([[0.2, 0.8], [0.6, 0.4]]), torch.tensor([1, 1]))
    0.5
    """
    return float(
        rows(classified(predictions, targets, from_logits=from_logits, binary=binary)).hit.double().mean()
    )


def nll(predictions: Array, targets: Array, *, from_logits: bool = False, binary: str | None = None) -> float:
    """−(1/n) Σ_i log p_{i,y_i}, natural logarithm; finite for any finite logits.

    From probabilities, p_{i,y_i} is clamped at the smallest normal number of the type (float32: 1.2e-38).

    >>> import torch
    >>> nll(torch.tensor([[0.0, -1000.0]]), torch.tensor([1]), from_logits=True)
    1000.0
    """
    return float(
        rows(classified(predictions, targets, from_logits=from_logits, binary=binary)).nll.double().mean()
    )


def brier(
    predictions: Array, targets: Array, *, from_logits: bool = False, binary: str | None = None
) -> float:
    """(1/n) Σ_i Σ_c (p_ic − [y_i = c])², from 0 to 2; ``binary="positive"`` is (1/n) Σ_i (p_i1 − y_i)².

    >>> import torch
    >>> brier(torch.tensor([[0.5, 0.5]]), torch.tensor([1]))
    0.5
    """
    return float(
        rows(classified(predictions, targets, from_logits=from_logits, binary=binary)).brier.double().mean()
    )
