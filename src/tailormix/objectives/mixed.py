"""Objectives that learn from clean targets, and from mixed ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tailormix.objectives.reduction import clean_loss, mean_loss, num_classes_of

if TYPE_CHECKING:
    from torch import Tensor, nn

    from tailormix.batch import Batch
    from tailormix.components import Criterion, Mix


@dataclass(frozen=True)
class CleanTargets:
    """criterion(f(x), y), with hard labels where they are hard."""

    batch_form: ClassVar[bool] = True
    keeps_clean_labels: ClassVar[bool] = True

    def __call__(self, model: nn.Module, batch: Batch, mix: Mix | None, criterion: Criterion) -> Tensor:
        predictions = model(batch.x)
        num_classes_of(predictions, batch)
        return clean_loss(criterion, predictions, batch)


@dataclass(frozen=True)
class MixedTargets:
    """criterion(f(x̃), ỹ)."""

    batch_form: ClassVar[bool] = True

    def __call__(self, model: nn.Module, batch: Batch, mix: Mix, criterion: Criterion) -> Tensor:
        mixed = mix(batch)
        predictions = mixed.predict(model)
        targets = mixed.targets(num_classes_of(predictions, batch))
        return mean_loss(criterion, predictions, targets, mixed.weight())
