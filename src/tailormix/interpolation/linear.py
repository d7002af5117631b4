"""How two things are blended: λ a + (1-λ) b, on the inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tailormix.bags import blend
from tailormix.batch import Batch, Mixed
from tailormix.plan import Plan, mix

if TYPE_CHECKING:
    from tailormix.draws import Draws


@dataclass(frozen=True)
class Linear:
    """x̃_i = λ_i x_i + (1 - λ_i) x_σ(i)."""

    batch_form: ClassVar[bool] = True
    rowwise: ClassVar[bool] = True

    def __call__(self, batch: Batch, plan: Plan, draws: Draws) -> Mixed:
        if batch.pool is None:
            found = blend(batch.x, plan.partner, plan.lam)
            if found is not None:
                return Mixed(found[0], plan, batch, bags=(plan, found[1]))
        return Mixed(mix(batch.x, batch.partner_inputs(plan.partner), plan.lam), plan, batch)
