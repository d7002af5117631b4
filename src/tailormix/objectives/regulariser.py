"""Learn the clean batch, with the mixed one as a regulariser (RegMixup)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import torch

from tailormix import checks
from tailormix.batch import one_hot
from tailormix.embeddings import catch_input, outside_compiled_code, unwrap
from tailormix.objectives.mixed import as_tensor, num_classes_of, reduce

if TYPE_CHECKING:
    from torch import Tensor, nn

    from tailormix.batch import Batch, Mixed
    from tailormix.components import Criterion, Mix


@dataclass(frozen=True)
class Regulariser:
    """½ criterion(f(x), y) + ½ criterion(f(x̃), ỹ), as the mean over the 2n rows of both batches.

    One pass of 2n samples, so that BatchNorm sees both batches together.

    Attributes:
        extra_pass: where mixing needs embeddings (SK RegMixup), measure them in a pass of their own, as in
            the paper. ``False`` takes them from the clean batch, which then passes alone before the mixed
            one: cheaper, but BatchNorm normalises the two apart and updates its statistics by each in turn.

    """

    extra_pass: bool = True
    batch_form: ClassVar[bool] = False

    def __post_init__(self) -> None:
        checks.boolean("extra_pass", self.extra_pass)

    def __call__(self, model: nn.Module, batch: Batch, mix: Mix, criterion: Criterion) -> Tensor:
        if callable(batch.embeddings) and not self.extra_pass and mix.needs_embeddings(batch):
            return _one_after_the_other(model, batch, mix, criterion)
        mixed = mix(batch)
        return _mean_loss(_together(model, batch, mixed), batch, mixed, criterion)


@outside_compiled_code
def _one_after_the_other(model: nn.Module, batch: Batch, mix: Mix, criterion: Criterion) -> Tensor:
    """The loss with embeddings from the clean pass, which comes first."""
    with catch_input(unwrap(model), mix.embedding_layer, rows=len(batch)) as embeddings:
        clean = as_tensor(model(batch.x))
    mixed = mix(replace(batch, embeddings=embeddings()))
    return _mean_loss(torch.cat((clean, mixed.predict(model))), batch, mixed, criterion)


def _together(model: nn.Module, batch: Batch, mixed: Mixed) -> Tensor:
    """Predictions for both batches: in one pass, unless mixing happens inside the model."""
    if mixed.place is None:
        return as_tensor(model(torch.cat((batch.x, mixed.x))))
    return torch.cat((model(batch.x), mixed.predict(model)))


def _mean_loss(predictions: Tensor, batch: Batch, mixed: Mixed, criterion: Criterion) -> Tensor:
    """The mean loss of the 2n rows of both batches."""
    classes = num_classes_of(predictions, batch)
    hard = batch.y if classes is None or batch.y.is_floating_point() else one_hot(batch.y, classes)
    targets = torch.cat((hard, mixed.targets(classes)))
    weight, mixed_weight = batch.weight, mixed.weight()
    if weight is not None and mixed_weight is not None:
        weight = torch.cat((weight, mixed_weight))
    return reduce(criterion(predictions, targets), len(predictions), weight)
