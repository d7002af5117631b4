"""Learn to be less confident, the more a sample is mixed (RankMixup)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from tailormix import checks
from tailormix.objectives.mixed import clean_loss, num_classes_of, only_classes, reduce

if TYPE_CHECKING:
    from torch import Tensor, nn

    from tailormix.batch import Batch, Mixed
    from tailormix.components import Criterion, Mix


@dataclass(frozen=True)
class RankedConfidence:
    """CE(f(x), y) + w · mean_i(1 - ρ_i), M-NDCG: confidences in the order of the mixing coefficients.

    With c the largest probability of the clean sample and of its Q-1 mixed versions, and g the largest entry
    of their targets (1 for the clean one), sorted by g: DCG = Σ_r c_(r) / log₂(r+1), IDCG so with g,
    and ρ the smaller of the two over the larger. Two passes, of n and (Q-1)n samples.

    Attributes:
        weight: w.
        mixes: Q-1, how many mixed versions there are of each batch.

    """

    weight: float = 0.1
    mixes: int = 3
    batch_form: ClassVar[bool] = False
    keeps_clean_labels: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checks.non_negative("weight", self.weight)
        checks.integer("mixes", self.mixes, at_least=1)

    def __call__(self, model: nn.Module, batch: Batch, mix: Mix, criterion: Criterion) -> Tensor:
        logits, mixed, mixed_logits = _passes(model, batch, mix, self.mixes)
        confidence = torch.stack([z.softmax(1).amax(1) for z in (logits, *mixed_logits)], dim=1)
        strength = torch.stack([m.targets(logits.shape[1]).amax(1) for m in mixed], dim=1)
        loss = clean_loss(criterion, logits, batch)
        return loss + self.weight * reduce(
            1 - ranking_agreement(confidence, strength), len(batch), batch.weight
        )


def ranking_agreement(confidence: Tensor, strength: Tensor) -> Tensor:
    """ρ of shape (n,), from c of the clean and the mixed samples (n, Q) and g of the mixed ones (n, Q-1).

    >>> c, g = torch.tensor([[1.0, 0.5]]), torch.tensor([[0.5]])
    >>> ranking_agreement(c, g)
    tensor([1.])
    """
    order = strength.argsort(dim=1, descending=True)
    sorted_c = torch.cat((confidence[:, :1], confidence[:, 1:].gather(1, order)), dim=1)
    sorted_g = torch.cat((torch.ones_like(strength[:, :1]), strength.gather(1, order)), dim=1)
    rank = torch.arange(2, sorted_c.shape[1] + 2, device=confidence.device, dtype=confidence.dtype)
    dcg, ideal = (sorted_c / rank.log2()).sum(1), (sorted_g.to(confidence.dtype) / rank.log2()).sum(1)
    return torch.minimum(dcg, ideal) / torch.maximum(dcg, ideal)


@dataclass(frozen=True)
class RankedMargin:
    """CE(f(x), y) + w · mean_i(mask_i · max(0, max z̃_i - max z_i + m)), MRL: mixed logits below clean ones.

    The mask drops pairs whose mixed target is no mixture: a sample with itself or with its own class. The
    mean is that of the products; the published code multiplies (n,) by (n, 1) and averages n × n of them.

    Attributes:
        weight: w.
        margin: m, on the scale of logits.

    """

    weight: float = 0.1
    margin: float = 2.0
    batch_form: ClassVar[bool] = False
    keeps_clean_labels: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checks.non_negative("weight", self.weight)
        checks.number("margin", self.margin)

    def __call__(self, model: nn.Module, batch: Batch, mix: Mix, criterion: Criterion) -> Tensor:
        logits, (mixed,), (mixed_logits,) = _passes(model, batch, mix, 1)
        mixture = (mixed.targets(logits.shape[1]).amax(1) < 1).to(logits.dtype)
        hinge = (mixed_logits.amax(1) - logits.amax(1) + self.margin).clamp(min=0)
        loss = clean_loss(criterion, logits, batch)
        return loss + self.weight * reduce(mixture * hinge, len(batch), batch.weight)


def _passes(
    model: nn.Module, batch: Batch, mix: Mix, mixes: int
) -> tuple[Tensor, list[Mixed], tuple[Tensor, ...]]:
    """Logits of the clean batch, the mixed batches, and their logits: passes of n and of mixes·n samples."""
    only_classes("RankMixup", batch)
    logits: Tensor = model(batch.x)
    num_classes_of(logits, batch)
    mixed = [mix(batch) for _ in range(mixes)]
    if any(each.place is not None for each in mixed):  # mixed inside the model
        return logits, mixed, tuple(each.predict(model) for each in mixed)
    return logits, mixed, model(torch.cat([each.x for each in mixed])).chunk(mixes)
