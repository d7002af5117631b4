"""From predictions to a loss: what all objectives share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from tailormix.batch import check_range
from tailormix.kernel import MEAN, mse_loss

if TYPE_CHECKING:
    from torch import Tensor

    from tailormix.batch import Batch
    from tailormix.components import Criterion


def num_classes_of(predictions: Any, batch: Batch) -> int | None:
    """C: as given, else read off the logits (n, C)."""
    logits = as_tensor(predictions)
    if not batch.classification:
        return None
    if logits.dim() < 2 or logits.shape[0] % len(batch):
        raise ValueError(
            f"the model must return logits of shape ({len(batch)}, C), got {tuple(logits.shape)}"
        )
    if batch.num_classes is not None and logits.shape[1] != batch.num_classes:
        raise ValueError(
            f"the model returns {logits.shape[1]} logits, but num_classes is {batch.num_classes}"
        )
    if not batch.y.is_floating_point() and batch.num_classes is None:
        check_range(batch.y, logits.shape[1])
    return logits.shape[1]


def as_tensor(predictions: Any) -> Tensor:
    """The model's output, which must be a tensor."""
    if not isinstance(predictions, torch.Tensor):
        raise TypeError(
            f"the model must return a tensor, got {type(predictions).__name__}: wrap it in an adapter"
        )
    return predictions


def mean_loss(
    criterion: Criterion, predictions: Tensor, targets: Tensor, weight: Tensor | None = None
) -> Tensor:
    """criterion(predictions, targets) as a scalar: the mean of (n,) losses, weighted if weights are given."""
    if weight is None and criterion is squared_error:  # all at once, and backwards too
        _check_shapes(predictions, targets)
        targets = targets if targets.dtype == predictions.dtype else targets.to(predictions.dtype)
        loss: Tensor = mse_loss(predictions, targets, MEAN)
        return loss
    return reduce(criterion(predictions, targets), predictions.shape[0], weight)


def reduce(losses: Tensor, rows: int, weight: Tensor | None = None) -> Tensor:
    """A scalar stays; (n,) losses become their mean, Σ w_i ℓ_i / Σ w_i with weights."""
    if losses.dim() == 0:
        if weight is not None:
            raise ValueError("weights need a criterion that returns one loss a sample: use reduction='none'")
        return losses
    if losses.shape != (rows,):
        raise ValueError(
            f"the criterion must return a scalar or ({rows},) losses, got shape {tuple(losses.shape)}"
        )
    if weight is None:
        return losses.mean()
    weighted = losses.dot(weight) if weight.dtype == losses.dtype else (losses * weight).sum()
    return weighted / weight.sum()


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """-Σ_c t_c log p_c for each sample, (n,); targets are class indices or soft rows."""
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()  # log-sum-exp and soft targets need the digits
    targets = targets.to(logits.dtype) if targets.is_floating_point() else targets.long()
    return functional.cross_entropy(logits, targets, reduction="none")


def squared_error(predictions: Tensor, targets: Tensor) -> Tensor:
    """(ŷ - y)², averaged over all but the first axis, (n,)."""
    _check_shapes(predictions, targets)
    error = (predictions - targets.to(predictions.dtype)).square()
    return error if error.dim() == 1 else error.flatten(1).mean(1)


def _check_shapes(predictions: Tensor, targets: Tensor) -> None:
    if predictions.shape != targets.shape:
        raise ValueError(
            f"predictions and targets must have one shape, got {tuple(predictions.shape)} and "
            f"{tuple(targets.shape)}: make them equal, for example with y[:, None]"
        )


def default_criterion(batch: Batch) -> Criterion:
    """Cross-entropy for classes, squared error for real targets."""
    return cross_entropy if batch.classification else squared_error


def clean_loss(criterion: Criterion, predictions: Tensor, batch: Batch) -> Tensor:
    """The loss of the batch as it came; the samples' ids go to a criterion that asks for them (CRL)."""
    if needs_ids(criterion):
        return reduce(criterion(predictions, batch.y, batch.ids), len(batch), batch.weight)
    return mean_loss(criterion, predictions, batch.y, batch.weight)


def only_classes(name: str, batch: Batch) -> None:
    """Refuse real targets for a method that is defined on classes."""
    if not batch.classification:
        raise ValueError(
            f"{name} is defined for classification, got real targets of shape {tuple(batch.y.shape)}"
        )


def check_history(criterion: Criterion, objective: object, batch: Batch) -> None:
    """Refuse a criterion with a history where there is nothing to remember, before anything is run."""
    if not needs_ids(criterion):
        return
    name = type(criterion).__name__
    if not getattr(objective, "keeps_clean_labels", False):
        raise ValueError(
            f"{name} follows which clean samples are classified right; "
            f"{type(objective).__name__} has no clean labels: use it with erm or rankmixup"
        )
    if batch.ids is None:
        raise ValueError(f"{name} needs ids= (the samples' numbers in the training set)")


def needs_ids(criterion: Criterion) -> bool:
    """Whether a criterion keeps a history of the samples it has seen."""
    return bool(getattr(criterion, "needs_ids", False))
