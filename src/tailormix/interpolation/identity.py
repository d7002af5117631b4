"""How two things are blended: not at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tailormix.batch import Batch, Mixed

if TYPE_CHECKING:
    from tailormix.draws import Draws
    from tailormix.plan import Plan


@dataclass(frozen=True)
class Identity:
    """x̃_i = x_i."""

    batch_form: ClassVar[bool] = True

    def __call__(self, batch: Batch, plan: Plan, draws: Draws) -> Mixed:
        return Mixed(batch.x, plan, batch)
