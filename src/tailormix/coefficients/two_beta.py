"""How strongly: one Beta for near pairs and another for far ones (the paper's simpler baseline)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from tailormix import checks
from tailormix.batch import SPACES, Space
from tailormix.draws import random_levels
from tailormix.plan import Plan
from tailormix.similarity import relative_distance
from tailormix.warping import beta_draw, steepness

if TYPE_CHECKING:
    from torch import Tensor

    from tailormix.batch import Batch
    from tailormix.draws import Draws


@dataclass(frozen=True)
class TwoBeta:
    """λ_i ~ Beta(α_near) where d̄_i < 1, else Beta(α_far), for each pair.

    Attributes:
        alpha_near: shape for pairs that are closer than the average.
        alpha_far: shape for the others.
        space: where distances are measured, as for the similarity kernel.

    """

    alpha_near: float = 10.0
    alpha_far: float = 0.1
    space: Space | None = None

    def __post_init__(self) -> None:
        checks.positive("alpha_near", self.alpha_near)
        checks.positive("alpha_far", self.alpha_far)
        if self.space is not None and not callable(self.space):
            checks.known("space", self.space, SPACES)

    @property
    def needs_embeddings(self) -> bool | None:
        """Whether embeddings are used; ``None`` where that depends on the task."""
        return None if self.space is None else self.space == "embedding"

    def __call__(self, batch: Batch, partner: Tensor, draws: Draws) -> Plan:
        distance = relative_distance(*batch.pair_features(partner, self.space), group=batch.group)
        near = distance < 1
        tau = torch.where(near, distance.new_full((), self.alpha_near), self.alpha_far)
        steep = torch.where(
            near, distance.new_full((), steepness(self.alpha_near)), steepness(self.alpha_far)
        )
        level, logistic = random_levels(draws, len(batch))
        return Plan(partner, beta_draw(level, steep, logistic), tau=tau, distance=distance)
