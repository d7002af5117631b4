"""How strongly: the more similar a pair, the more (SK Mixup, Eqs. 2, 4 and 5)."""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from tailormix import checks
from tailormix.batch import SPACES, Space
from tailormix.draws import random_levels
from tailormix.plan import Plan
from tailormix.similarity import distance_and_unit, kernel_line, kernel_steepness, trusted_kernel
from tailormix.warping import WARPS, beta_draw, exact_warp, uniform_at

if TYPE_CHECKING:
    from torch import Tensor

    from tailormix.batch import Batch
    from tailormix.draws import Draws
    from tailormix.similarity import KernelLine

SAMPLING = ("warp", "exact", "direct")


@dataclass(frozen=True)
class SimilarityKernel:
    """λ_i = ω_τᵢ(u_i), τ_i = τ_max · exp(-(d̄_i - 1) / (2 τ_std²)), u_i ~ U(0, 1), for each pair.

    Attributes:
        tau_max: how strongly a pair of average distance is mixed: its λ has the law Beta(τ_max, τ_max).
        tau_std: how fast mixing falls with distance; ∞ would be Mixup.
        tau_max_targets, tau_std_targets: the same for targets, where they are to differ.
        space: where distances are measured: ``"embedding"`` (default for classification), ``"label"``
            (default for regression), ``"input"``, or a function of x.
        kind: family of the warp, see :func:`tailormix.warp`.
        sampling: ``"warp"`` warps a draw by table (the paper's "lookup"); ``"exact"`` by scipy, on the CPU;
            ``"direct"`` draws each λ_i from Beta(τ_i, τ_i) itself (the paper's "no warping").
        squared: ``False`` measures distances without the square, as the authors' toy scripts do.

    """

    tau_max: float = 1.0
    tau_std: float = 0.25
    tau_max_targets: float | None = None
    tau_std_targets: float | None = None
    space: Space | None = None
    kind: str = "inverse_beta"
    sampling: str = "warp"
    squared: bool = True

    def __post_init__(self) -> None:
        checks.non_negative("tau_max", self.tau_max)
        checks.positive("tau_std", self.tau_std)
        if self.tau_max_targets is not None:
            checks.non_negative("tau_max_targets", self.tau_max_targets)
        if self.tau_std_targets is not None:
            checks.positive("tau_std_targets", self.tau_std_targets)
        if self.space is not None and not callable(self.space):
            checks.known("space", self.space, SPACES)
        checks.known("kind", self.kind, WARPS)
        checks.known("sampling", self.sampling, SAMPLING)
        if self.sampling == "direct" and (self.disentangled or self.kind != "inverse_beta"):
            raise ValueError(
                "sampling='direct' draws from one Beta a pair: it takes no other kind or target values"
            )
        _ = self._lines  # worked out here, since the compiler could not do it

    @property
    def needs_embeddings(self) -> bool | None:
        """Whether embeddings are used; ``None`` where that depends on the task."""
        return None if self.space is None else self.space == "embedding"

    @property
    def vectorised(self) -> bool:
        """Whether ``torch.func.vmap`` may draw for many batches at once."""
        return bool(self._lines) and not callable(self.space)

    @property
    def disentangled(self) -> bool:
        """Whether inputs and targets are warped apart."""
        return self.tau_max_targets is not None or self.tau_std_targets is not None

    @property
    def _kernels(self) -> list[tuple[float, float]]:
        """(τ_max, τ_std) of the inputs, and of the targets where they differ."""
        if not self.disentangled:
            return [(self.tau_max, self.tau_std)]
        tau_max = self.tau_max if self.tau_max_targets is None else self.tau_max_targets
        tau_std = self.tau_std if self.tau_std_targets is None else self.tau_std_targets
        return [(self.tau_max, self.tau_std), (tau_max, tau_std)]

    @functools.cached_property
    def _lines(self) -> tuple[KernelLine, ...]:
        """How steepness depends on distance, for each of them; nothing where the table does not serve."""
        tabled = self.sampling == "warp" and self.kind == "inverse_beta"
        return tuple(kernel_line(*kernel) for kernel in self._kernels) if tabled else ()

    def __reduce__(self) -> tuple[object, ...]:
        # Made anew: what is kept between calls is shared with other methods, and not to be sent around.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    def __call__(self, batch: Batch, partner: Tensor, draws: Draws, explained: bool = False) -> Plan:
        points, others, chosen = batch.pair_features(partner, self.space)
        distance, unit = distance_and_unit(points, others, chosen, self.squared, batch.group)
        lines, targets = self._lines, None
        if not lines:
            lam, targets = self._untabled(distance / unit, draws)
        else:
            level, logistic = random_levels(draws, partner.shape[0])
            lam = beta_draw(level, kernel_steepness(distance, unit, lines[0]), logistic)
            if len(lines) > 1:
                targets = beta_draw(level, kernel_steepness(distance, unit, lines[1]), logistic)
        if not explained:
            return Plan(partner, lam, targets)
        relative = distance / unit
        return Plan(partner, lam, targets, trusted_kernel(relative, self.tau_max, self.tau_std), relative)

    def explain(self, batch: Batch, partner: Tensor, draws: Draws) -> Plan:
        """The plan with the distances and the τ behind it."""
        return self(batch, partner, draws, explained=True)

    def _untabled(self, relative: Tensor, draws: Draws) -> tuple[Tensor, Tensor | None]:
        """Coefficients of inputs, and of targets where they differ, without the table of the default warp."""
        taus = [trusted_kernel(relative, *kernel) for kernel in self._kernels]
        if self.sampling == "direct":
            return draws.beta(taus[0]), None
        u = uniform_at(*random_levels(draws, relative.shape[0]))
        warped = [
            exact_warp(u, tau, self.kind) if self.sampling == "exact" else WARPS[self.kind](u, tau)
            for tau in taus
        ]
        return warped[0], warped[1] if self.disentangled else None
