"""Question (ii): how strongly?"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, ClassVar

import torch

from tailormix import checks
from tailormix.batch import SPACES, Plan, Space, check_range, take
from tailormix.components import explained
from tailormix.draws import GRAINS, random_levels
from tailormix.kept import kept, readable
from tailormix.kernel import (
    distance_and_unit,
    kernel_line,
    kernel_steepness,
    relative_distance,
    trusted_kernel,
)
from tailormix.warping import WARPS, beta_at, beta_draw, exact_warp, steepness, uniform_at, warp

if TYPE_CHECKING:
    from torch import Tensor

    from tailormix.batch import Batch
    from tailormix.components import Coefficients
    from tailormix.draws import Draws
    from tailormix.kernel import KernelLine

__all__ = [
    "Beta",
    "Constant",
    "InputsOnly",
    "Remix",
    "SeparatedBetas",
    "SimilarityKernel",
    "TargetsOnly",
    "TwoBeta",
    "Warped",
]


@dataclass(frozen=True)
class Constant:
    """λ_i = lam for every pair; 1 leaves the batch as it is."""

    lam: float = 1.0
    needs_embeddings: ClassVar[bool] = False

    def __post_init__(self) -> None:
        checks.fraction("lam", self.lam)

    def __call__(self, batch: Batch, partner: Tensor, draws: Draws) -> Plan:
        return Plan(partner, torch.full((len(batch),), float(self.lam), device=draws.device))


@dataclass(frozen=True)
class Beta:
    """λ ~ Beta(α, α), drawn once for the batch or once for each pair; α = 0 means λ = 1: no mixing.

    Attributes:
        alpha: the shape; 1 is uniform, small values mix hardly, large ones half and half.
        per: ``"batch"`` or ``"sample"``.

    """

    alpha: float = 1.0
    per: str = "batch"
    needs_embeddings: ClassVar[bool] = False
    vectorised: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checks.non_negative("alpha", self.alpha)
        checks.known("per", self.per, GRAINS)

    def __call__(self, batch: Batch, partner: Tensor, draws: Draws) -> Plan:
        n = len(batch)
        lam = sample(self.alpha, n if self.per == "sample" else 1, draws)
        return Plan(partner, lam.expand(n))


def sample(alpha: float, count: int, draws: Draws) -> Tensor:
    """``count`` draws from Beta(α, α), by warping (Proposition 3.3)."""
    if alpha == 0:
        return torch.ones(count, device=draws.device)
    level, logistic = random_levels(draws, count)
    return beta_at(level, alpha, logistic)


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


@dataclass(frozen=True)
class Remix:
    """λ^y_i = 0 if N_i/N_j ≥ κ and λ < t; 1 if N_i/N_j ≤ 1/κ and 1-λ < t; else λ.  N: samples of the class.

    On balanced classes it is Mixup.

    Attributes:
        alpha, per: the law of λ, see :class:`Beta`.
        kappa: how much more frequent one class must be.
        threshold: t, how dominant the frequent one may be before its label is kept.
        counts: samples of each class; counted by ``fit`` where they are not given.

    """

    alpha: float = 1.0
    kappa: float = 3.0
    threshold: float = 0.5
    per: str = "batch"
    counts: tuple[float, ...] | None = None
    needs_embeddings: ClassVar[bool] = False

    def __post_init__(self) -> None:
        Beta(self.alpha, self.per)
        if not checks.positive("kappa", self.kappa) > 1:
            raise ValueError(f"kappa must be > 1, got {self.kappa}: equal classes would count as unequal")
        checks.fraction("threshold", self.threshold)
        if self.counts is not None and not all(count >= 0 for count in self.counts):
            raise ValueError(f"counts must be >= 0, got {self.counts}")

    def fit(self, y: Tensor) -> Remix:
        """The same word with the classes of the training set counted, unless counts were given."""
        if self.counts is not None:
            return self
        if y.is_floating_point() and (y.dim() != 2 or y.shape[1] < 2 or bool((y < 0).any())):
            raise ValueError("Remix counts classes: y must hold class indices or soft rows, got real targets")
        counts = y.sum(0) if y.is_floating_point() else torch.bincount(y.long())
        return replace(self, counts=tuple(counts.tolist()))

    def __call__(self, batch: Batch, partner: Tensor, draws: Draws) -> Plan:
        if self.counts is None:
            raise ValueError(
                "Remix needs the number of samples of each class: pass counts=, or call fit(x, y)"
            )
        plan = Beta(self.alpha, self.per)(batch, partner, draws)
        frequency = self._frequency(batch)
        ratio = frequency / take(frequency, partner)
        lam = torch.where((ratio >= self.kappa) & (plan.lam < self.threshold), 0.0, plan.lam)
        lam = torch.where((ratio <= 1 / self.kappa) & (1 - plan.lam < self.threshold), 1.0, lam)
        return replace(plan, lam_targets=lam)

    def _frequency(self, batch: Batch) -> Tensor:
        """N_i, the number of training samples of each sample's class, (n,)."""
        if not batch.classification or self.counts is None:
            raise ValueError("Remix is defined for classification, got real targets")
        counts = _counts_on(self.counts, batch.y.device)
        if batch.y.is_floating_point():
            return batch.y @ counts.to(batch.y.dtype)
        if readable(batch.y) and int(batch.y.max()) >= len(self.counts):
            if batch.num_classes is not None:
                check_range(batch.y, batch.num_classes)
            raise ValueError(
                f"counts must hold every class, got {len(self.counts)} for class {int(batch.y.max())}"
            )
        return counts[batch.y.long()]


@kept
def _counts_on(counts: tuple[float, ...], device: torch.device) -> Tensor:
    return torch.tensor(counts, dtype=torch.float32, device=device)


RAREST = 1e-3  # share of feasible draws below which a setting is rejected
FAILURE = 1e-12  # accepted probability that no candidate is feasible


@dataclass(frozen=True)
class SeparatedBetas:
    """λ₁ = max(b, 1-b), λ₂ = min(b', 1-b') with b, b' ~ Beta(α, α), given that λ₁ - λ₂ ≥ margin.

    Instead of drawing again until the margin holds, which waits for the device at every try, enough
    candidates are drawn at once that one of them holds it but for a probability of 1e-12.

    Attributes:
        alpha: shape of the Beta.
        margin: least difference of the two, in (0, 1).

    """

    alpha: float = 1.0
    margin: float = 0.5
    needs_embeddings: ClassVar[bool] = False

    def __post_init__(self) -> None:
        checks.positive("alpha", self.alpha)
        if not 0 < checks.fraction("margin", self.margin) < 1:
            raise ValueError(f"margin must lie strictly between 0 and 1, got {self.margin}")
        if (share := feasible_share(self.alpha, self.margin)) < RAREST:
            raise ValueError(
                f"margin={self.margin} with alpha={self.alpha} leaves {share:.2g} of all draws: lower one"
            )

    def __call__(self, batch: Batch, partner: Tensor, draws: Draws) -> Plan:
        return Plan(partner, self.pairs(draws, 1)[0].expand(len(batch)))

    def pairs(self, draws: Draws, count: int) -> Tensor:
        """λ₁ and λ₂ of ``count`` draws, (2, count)."""
        share = feasible_share(self.alpha, self.margin)
        candidates = 1 if share >= 1 else math.ceil(math.log(FAILURE) / math.log1p(-share))
        b = sample(self.alpha, 2 * count * candidates, draws).view(2, count, candidates)
        near = torch.minimum(b, 1 - b)  # 1 - λ₁ and λ₂: two independent draws of one law on [0, ½]
        feasible = near.sum(0) <= 1 - self.margin
        first = feasible.to(torch.uint8).argmax(1, keepdim=True)
        chosen = near.gather(2, first.expand(2, count, 1)).squeeze(2)
        return torch.stack((1 - chosen[0], chosen[1]))


@functools.cache
def feasible_share(alpha: float, margin: float) -> float:
    """P(λ₁ - λ₂ ≥ margin), by integrating over one of the two.

    >>> round(feasible_share(1.0, 0.5), 6)
    0.5
    """
    import numpy as np
    from scipy import special

    level = (np.arange(4096) + 0.5) / 4096 / 2  # quantiles of the near half, in equal shares
    near = special.betaincinv(alpha, alpha, level)
    room = np.clip(1 - margin - near, 0, 0.5)
    return float(np.mean(2 * special.betainc(alpha, alpha, room)))
