"""How strongly: one uniform draw, warped by constants, for inputs and targets apart (Warped Mixup, Eq. 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tailormix import checks
from tailormix.draws import GRAINS, random_levels
from tailormix.plan import Plan
from tailormix.warping import WARPS, beta_at, uniform_at, warp

if TYPE_CHECKING:
    from torch import Tensor

    from tailormix.batch import Batch
    from tailormix.draws import Draws


@dataclass(frozen=True)
class Warped:
    """λ = ω_τ(u) for inputs and ω_τ'(u) for targets, with one u ~ U(0, 1) (Eq. 3 and its disentangled form).

    Attributes:
        tau: warping parameter of the inputs.
        tau_targets: that of the targets; ``None`` means the same. Close to 0 it gives Mixup-IO.
        per: one draw for the ``"batch"`` or one for each ``"sample"``.
        kind: family of the warp, see :func:`tailormix.warp`.

    """

    tau: float = 1.0
    tau_targets: float | None = None
    per: str = "batch"
    kind: str = "inverse_beta"
    needs_embeddings: ClassVar[bool] = False

    def __post_init__(self) -> None:
        checks.non_negative("tau", self.tau)
        if self.tau_targets is not None:
            checks.non_negative("tau_targets", self.tau_targets)
        checks.known("per", self.per, GRAINS)
        checks.known("kind", self.kind, WARPS)

    def __call__(self, batch: Batch, partner: Tensor, draws: Draws) -> Plan:
        n = len(batch)
        level, logistic = random_levels(draws, n if self.per == "sample" else 1)
        lam = self._warped(level, logistic, self.tau).expand(n)
        tau = level.new_full((n,), self.tau)
        if self.tau_targets is None:
            return Plan(partner, lam, tau=tau)
        return Plan(partner, lam, self._warped(level, logistic, self.tau_targets).expand(n), tau=tau)

    def _warped(self, level: Tensor, logistic: bool, tau: float) -> Tensor:
        if self.kind == "inverse_beta":
            return beta_at(level, tau, logistic)
        return warp(uniform_at(level, logistic), tau, self.kind)
