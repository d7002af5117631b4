"""How strongly: mix only the inputs, or only the targets (Mixup-IO and Mixup-TO)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tailormix.warping import warp
from tailormix.words import explained

if TYPE_CHECKING:
    from torch import Tensor

    from tailormix.batch import Batch
    from tailormix.draws import Draws
    from tailormix.plan import Plan
    from tailormix.words import Coefficients


@dataclass(frozen=True)
class InputsOnly:
    """Inputs mixed with λ, targets with ω₀(λ) = 1[λ > ½]: those of the sample that dominates."""

    coefficients: Coefficients

    @property
    def needs_embeddings(self) -> bool | None:
        """As the coefficients inside."""
        return self.coefficients.needs_embeddings

    def __call__(self, batch: Batch, partner: Tensor, draws: Draws) -> Plan:
        return self._one_sided(self.coefficients(batch, partner, draws))

    def explain(self, batch: Batch, partner: Tensor, draws: Draws) -> Plan:
        """As the coefficients inside."""
        return self._one_sided(explained(self.coefficients, batch, partner, draws))

    def _one_sided(self, plan: Plan) -> Plan:
        return replace(plan, lam_targets=warp(plan.for_targets.lam, 0.0))


@dataclass(frozen=True)
class TargetsOnly:
    """Targets mixed with λ, inputs with ω₀(λ) = 1[λ > ½]: the sample that dominates."""

    coefficients: Coefficients

    @property
    def needs_embeddings(self) -> bool | None:
        """As the coefficients inside."""
        return self.coefficients.needs_embeddings

    def __call__(self, batch: Batch, partner: Tensor, draws: Draws) -> Plan:
        return self._one_sided(self.coefficients(batch, partner, draws))

    def explain(self, batch: Batch, partner: Tensor, draws: Draws) -> Plan:
        """As the coefficients inside."""
        return self._one_sided(explained(self.coefficients, batch, partner, draws))

    def _one_sided(self, plan: Plan) -> Plan:
        return replace(plan, lam=warp(plan.lam, 0.0), lam_targets=plan.for_targets.lam)
