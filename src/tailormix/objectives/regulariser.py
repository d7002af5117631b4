"""Learn the clean batch, with the mixed one as a regulariser (RegMixup)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import torch

from tailormix.batch import one_hot
from tailormix.embeddings import catch_input
from tailormix.objectives.mixed import as_tensor, num_classes_of, reduce

if TYPE_CHECKING:
    from torch import Tensor, nn

    from tailormix.batch import Batch, Mixed
    from tailormix.components import Criterion, Mix


@dataclass(frozen=True)
class Regulariser:
    """½ criterion(f(x), y) + ½ criterion(f(x̃), ỹ), as the mean over the 2n rows of both batches.

    One pass of 2n samples. Where mixing needs embeddings (SK RegMixup) they are taken from the clean pass,
    which then comes first: two passes of n and none to measure.

    Attributes:
        extra_pass: measure embeddings in a pass of their own and run both batches together, as in the paper.

    """

    extra_pass: bool = False
    batch_form: ClassVar[bool] = False

    def __call__(self, model: nn.Module, batch: Batch, mix: Mix, criterion: Criterion) -> Tensor:
        if callable(batch.embeddings) and not self.extra_pass and mix.needs_embeddings(batch):
            with catch_input(model, mix.embedding_layer, rows=len(batch)) as embeddings:
                clean = as_tensor(model(batch.x))
            mixed = mix(replace(batch, embeddings=embeddings()))
            predictions = torch.cat((clean, mixed.predict(model)))
        else:
            mixed = mix(batch)
            predictions = _together(model, batch, mixed)
        classes = num_classes_of(predictions, batch)
        hard = batch.y if classes is None or batch.y.is_floating_point() else one_hot(batch.y, classes)
        targets = torch.cat((hard, mixed.targets(classes)))
        weight, mixed_weight = batch.weight, mixed.weight()
        if weight is not None and mixed_weight is not None:
            weight = torch.cat((weight, mixed_weight))
        return reduce(criterion(predictions, targets), len(predictions), weight)


def _together(model: nn.Module, batch: Batch, mixed: Mixed) -> Tensor:
    """Predictions for both batches: in one pass, unless mixing happens inside the model."""
    if mixed.place is None:
        return as_tensor(model(torch.cat((batch.x, mixed.x))))
    return torch.cat((model(batch.x), mixed.predict(model)))
