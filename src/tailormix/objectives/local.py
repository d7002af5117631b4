"""Learn mixed targets, but less from pairs that are far apart (Local Mixup)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from tailormix import checks
from tailormix.kernel import all_distances, as_rows
from tailormix.objectives.mixed import num_classes_of, per_sample, reduce

if TYPE_CHECKING:
    from torch import Tensor, nn

    from tailormix.batch import Batch
    from tailormix.components import Criterion, Mix

WEIGHTINGS = ("exponential", "threshold", "nearest")


@dataclass(frozen=True)
class LocallyWeighted:
    """Σ_i w_i ℓ_i / Σ_i w_i with w_i = exp(-σ‖x_i - x_σ(i)‖); or the mean of w_i ℓ_i with w_i in {0, 1}.

    Attributes:
        weighting: ``"exponential"``, ``"threshold"`` (w_i = 1 where ‖·‖ ≤ ε) or ``"nearest"`` (w_i = 1 where
            the partner is one of the k nearest neighbours of i within the batch, or i itself).
        sigma: σ of the exponential.
        epsilon: ε of the threshold.
        k: of the nearest neighbours.

    """

    weighting: str = "exponential"
    sigma: float = 5e-4
    epsilon: float = 1.0
    k: int = 10
    batch_form: ClassVar[bool] = False

    def __post_init__(self) -> None:
        checks.known("weighting", self.weighting, WEIGHTINGS)
        checks.non_negative("sigma", self.sigma)
        checks.non_negative("epsilon", self.epsilon)
        checks.integer("k", self.k, at_least=1)

    def __call__(self, model: nn.Module, batch: Batch, mix: Mix, criterion: Criterion) -> Tensor:
        mixed = mix(batch)
        predictions = mixed.predict(model)
        losses = criterion(predictions, mixed.targets(num_classes_of(predictions, batch)))
        if losses.dim() == 0:
            raise ValueError(
                "Local Mixup needs a criterion that returns one loss per sample: use reduction='none'"
            )
        local = self.weights(batch, mixed.plan.partner).to(losses.dtype)
        given = mixed.weight()
        if self.weighting == "exponential":
            return reduce(losses, len(batch), local if given is None else local * given)
        return reduce(per_sample(losses) * local, len(batch), given)

    def weights(self, batch: Batch, partner: Tensor) -> Tensor:
        """w, (n,); the exponential ones up to a common factor, which cancels: the largest is 1."""
        if self.weighting == "nearest":
            return nearest(batch, partner, self.k)
        others = batch.x[partner] if batch.pool is None else batch.pool.inputs(partner)
        distance = (as_rows(batch.x).double() - as_rows(others).double()).square().sum(1).sqrt()
        if self.weighting == "threshold":
            return distance <= self.epsilon
        # Relative to the nearest pair: of far pairs alone, all weights would vanish, and so would their sum.
        return torch.exp(-self.sigma * (distance - distance.min()))


def nearest(batch: Batch, partner: Tensor, k: int) -> Tensor:
    """Whether fewer than k others in the batch are nearer to i than its partner is, (n,)."""
    if batch.pool is not None:
        raise ValueError("weighting='nearest' looks within the batch: it takes no partners from the pool")
    distance = all_distances(batch.x).fill_diagonal_(torch.inf)
    mine = distance.gather(1, partner[:, None])
    itself = partner == torch.arange(len(batch), device=partner.device)
    return ((distance < mine).sum(1) < k) | itself
