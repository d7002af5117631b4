"""Learn mixed targets from mixed inputs, or clean from clean; and the reduction that objectives share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch.nn import functional

from tailormix.batch import check_range, reject_class_rows
from tailormix.checks import readable

if TYPE_CHECKING:
    from torch import Tensor, nn

    from tailormix.batch import Batch
    from tailormix.components import Criterion, Mix

NO_CLASS = -(2**31)  # torch's own -100 would let a wrong label pass without a word


@dataclass(frozen=True)
class MixedTargets:
    """criterion(f(x̃), ỹ)."""

    batch_form: ClassVar[bool] = True

    def __call__(self, model: nn.Module, batch: Batch, mix: Mix, criterion: Criterion) -> Tensor:
        mixed = mix(batch)
        predictions = mixed.predict(model)
        targets, weight = mixed.targets(num_classes_of(predictions, batch)), mixed.weight()
        return reduce(criterion(predictions, targets), len(predictions), weight)


@dataclass(frozen=True)
class CleanTargets:
    """criterion(f(x), y), with hard labels where they are hard."""

    batch_form: ClassVar[bool] = True
    keeps_clean_labels: ClassVar[bool] = True

    def __call__(self, model: nn.Module, batch: Batch, mix: Mix | None, criterion: Criterion) -> Tensor:
        predictions = model(batch.x)
        num_classes_of(predictions, batch)
        return clean_loss(criterion, predictions, batch)


def num_classes_of(predictions: Any, batch: Batch) -> int | None:
    """C: as given, else read off the logits (n, C); ``None`` for regression."""
    logits, n = as_tensor(predictions), batch.x.shape[0]
    if not batch.classification:
        return None
    if logits.dim() < 2 or logits.shape[0] % n or logits.shape[1] == 1:
        raise ValueError(
            f"the model must return logits of shape ({n}, C) for class labels, got "
            f"{tuple(logits.shape)}: let it return one logit per class, two for a binary problem (or pass "
            "y.float() and a criterion for one logit)"
        )
    if batch.num_classes is not None and logits.shape[1] != batch.num_classes:
        raise ValueError(
            f"the model returns {logits.shape[1]} logits, but num_classes is {batch.num_classes}"
        )
    if batch.num_classes is None:
        check_range(batch.y, logits.shape[1])
    return logits.shape[1]


def as_tensor(predictions: Any) -> Tensor:
    """The model's output, which must be a tensor."""
    if not isinstance(predictions, torch.Tensor):
        raise TypeError(
            f"the model must return a tensor, got {type(predictions).__name__}: wrap it in an adapter"
        )
    return predictions


def clean_loss(criterion: Criterion, predictions: Tensor, batch: Batch) -> Tensor:
    """The loss of the batch as it came; the samples' ids go to a criterion that asks for them (CRL)."""
    ids = (batch.ids,) if getattr(criterion, "needs_ids", False) else ()
    return reduce(criterion(predictions, batch.y, *ids), len(predictions), batch.weight)


def reduce(losses: Tensor, rows: int, weight: Tensor | None = None) -> Tensor:
    """A scalar stays; (n,) or (n, ...) losses become their mean, Σ w_i ℓ_i / Σ w_i with weights."""
    if losses.dim() == 0:
        if weight is not None:
            raise ValueError(
                "weights need a criterion that returns one loss per sample: use reduction='none'"
            )
        return losses
    if losses.shape[0] != rows:
        raise ValueError(
            f"the criterion must return a scalar or {rows} losses, got shape {tuple(losses.shape)}"
        )
    losses = per_sample(losses)
    return losses.mean() if weight is None else (losses * weight).sum() / weight.sum()


def per_sample(losses: Tensor) -> Tensor:
    """(n,) from losses (n, ...): one for each class of several labels, or for each output, are averaged."""
    return losses if losses.dim() == 1 else losses.flatten(1).mean(1)


def default_criterion(batch: Batch) -> Criterion:
    """Cross-entropy for classes, squared error for real targets, for which classes must not be taken."""
    if not batch.classification:
        reject_class_rows(batch.y, "criterion=")
        return squared_error
    if batch.y.is_floating_point() and readable(batch.y):
        total = batch.y.float().sum(1)
        if not bool(((total - 1).abs() < 1e-2).all()):  # half precision is no closer
            raise ValueError(
                f"rows of y must sum to 1 for cross-entropy, got sums from {total.min():.4g} to "
                f"{total.max():.4g}: for several labels per sample pass criterion=nn.BCEWithLogitsLoss()"
            )
    return cross_entropy


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """-Σ_c t_c log p_c for each sample, (n,); targets are class indices or soft rows."""
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()  # log-sum-exp and soft targets need the digits
    if targets.is_floating_point():
        targets = targets.to(logits.dtype)
    return functional.cross_entropy(logits, targets, reduction="none", ignore_index=NO_CLASS)


def squared_error(predictions: Tensor, targets: Tensor) -> Tensor:
    """(ŷ - y)², averaged over all but the first axis, (n,)."""
    if predictions.shape != targets.shape:
        raise ValueError(
            f"predictions and targets must have one shape, got {tuple(predictions.shape)} and "
            f"{tuple(targets.shape)}: make them equal, for example with y[:, None]"
        )
    return per_sample((predictions - targets.to(predictions.dtype)).square())


def only_classes(name: str, batch: Batch) -> None:
    """Refuse real targets for a method that is defined on classes."""
    if not batch.classification:
        raise ValueError(
            f"{name} is defined for classification, got real targets of shape {tuple(batch.y.shape)}"
        )


def check_criterion(criterion: Any, objective: object, batch: Batch) -> None:
    """Refuse what is no criterion, or one with a history where there is nothing to remember."""
    if not callable(criterion) or isinstance(criterion, type):
        raise TypeError(
            f"criterion must be a function of (predictions, targets), got {criterion!r}: make an instance of "
            "a class; tailormix.losses.build makes losses by name; cross-entropy and squared error are the "
            "defaults"
        )
    if not getattr(criterion, "needs_ids", False):
        return
    name = type(criterion).__name__
    if not getattr(objective, "keeps_clean_labels", False):
        raise ValueError(
            f"{name} follows which clean samples are classified right; "
            f"{type(objective).__name__} has no clean labels: use it with erm or rankmixup"
        )
    if batch.ids is None:
        raise ValueError(f"{name} needs ids= (the samples' numbers in the training set)")
