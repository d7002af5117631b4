"""Question (ii): how strongly?"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import torch

from tailormix import checks
from tailormix.batch import PER, Batch, Draws, Plan, Space, check_range, check_space
from tailormix.kernel import pair_distance, similarity_kernel
from tailormix.warping import WARPS, warp

if TYPE_CHECKING:
    from torch import Tensor

    from tailormix.components import Coefficients

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

    tau_max: float | Tensor = 1.0
    tau_std: float | Tensor = 0.25
    tau_max_targets: float | None = None
    tau_std_targets: float | None = None
    space: Space | None = None
    kind: str = "inverse_beta"
    sampling: str = "warp"
    squared: bool = True
    strength: ClassVar[str] = "tau_max"

    def __post_init__(self) -> None:
        checks.strength("tau_max", self.tau_max)
        if not isinstance(self.tau_std, torch.Tensor):
            checks.positive("tau_std", self.tau_std)
        if self.tau_max_targets is not None:
            checks.non_negative("tau_max_targets", self.tau_max_targets)
        if self.tau_std_targets is not None:
            checks.positive("tau_std_targets", self.tau_std_targets)
        check_space(self.space)
        checks.known("kind", self.kind, WARPS)
        checks.known("sampling", self.sampling, SAMPLING)
        disentangled = self.tau_max_targets is not None or self.tau_std_targets is not None
        if self.sampling == "direct" and (disentangled or self.kind != "inverse_beta"):
            raise ValueError(
                "sampling='direct' draws from one Beta per pair: it takes no other kind or target values"
            )

    @property
    def needs_embeddings(self) -> bool | None:
        """Whether embeddings are used; ``None`` where that depends on the task."""
        return None if self.space is None else self.space == "embedding"

    def __call__(self, batch: Batch, partner: Tensor, draws: Draws) -> Plan:
        u = draws.uniform(partner.shape[0])
        points, others, index = batch.pair_features(partner, self.space)  # h(x), y or x
        distance = pair_distance(points, index, partners=others, squared=self.squared, group=batch.group)
        tau = similarity_kernel(distance, self.tau_max, self.tau_std)
        if self.sampling == "direct":
            return Plan(partner, draws.beta(tau), tau=tau, distance=distance)
        exact = self.sampling == "exact"
        lam = warp(u, tau, self.kind, exact)
        if self.tau_max_targets is None and self.tau_std_targets is None:
            return Plan(partner, lam, tau=tau, distance=distance)
        tau_max = self.tau_max if self.tau_max_targets is None else self.tau_max_targets
        tau_std = self.tau_std if self.tau_std_targets is None else self.tau_std_targets
        lam_targets = warp(u, similarity_kernel(distance, tau_max, tau_std), self.kind, exact)
        return Plan(partner, lam, lam_targets, tau, distance)


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

    alpha: float | Tensor = 1.0
    per: str = "batch"
    needs_embeddings: ClassVar[bool] = False
    strength: ClassVar[str] = "alpha"

    def __post_init__(self) -> None:
        checks.strength("alpha", self.alpha)
        checks.known("per", self.per, PER)

    def __call__(self, batch: Batch, partner: Tensor, draws: Draws) -> Plan:
        n = len(batch)
        return Plan(partner, draw_beta(self.alpha, n if self.per == "sample" else 1, draws).expand(n))


def draw_beta(alpha: float | Tensor, count: int, draws: Draws) -> Tensor:
    """``count`` draws from Beta(α, α), by warping uniform ones (Proposition 3.3); 1 where α = 0."""
    if not isinstance(alpha, torch.Tensor) and alpha == 0:
        return torch.ones(count, device=draws.device)
    return warp(draws.uniform(count), alpha.to(draws.device) if isinstance(alpha, torch.Tensor) else alpha)


@dataclass(frozen=True)
class Warped:
    """λ = ω_τ(u) for inputs and ω_τ'(u) for targets, with one u ~ U(0, 1) (Eq. 3 and its disentangled form).

    Attributes:
        tau: warping parameter of the inputs.
        tau_targets: that of the targets; ``None`` means the same. Close to 0 it gives Mixup-IO.
        per: one draw for the ``"batch"`` or one for each ``"sample"``.
        kind: family of the warp, see :func:`tailormix.warp`.

    """

    tau: float | Tensor = 1.0
    tau_targets: float | None = None
    per: str = "batch"
    kind: str = "inverse_beta"
    needs_embeddings: ClassVar[bool] = False
    strength: ClassVar[str] = "tau"

    def __post_init__(self) -> None:
        checks.strength("tau", self.tau)
        if self.tau_targets is not None:
            checks.non_negative("tau_targets", self.tau_targets)
        checks.known("per", self.per, PER)
        checks.known("kind", self.kind, WARPS)

    def __call__(self, batch: Batch, partner: Tensor, draws: Draws) -> Plan:
        n = len(batch)
        u = draws.uniform(n if self.per == "sample" else 1)
        lam = warp(u, self.tau, self.kind).expand(n)
        tau = torch.as_tensor(self.tau, dtype=u.dtype, device=u.device).expand(n)
        if self.tau_targets is None:
            return Plan(partner, lam, tau=tau)
        return Plan(partner, lam, warp(u, self.tau_targets, self.kind).expand(n), tau)


@dataclass(frozen=True)
class TwoBeta:
    """λ_i ~ Beta(α_near) where d̄_i < 1, else Beta(α_far), for each pair (the paper's simpler baseline).

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
        check_space(self.space)

    @property
    def needs_embeddings(self) -> bool | None:
        """Whether embeddings are used; ``None`` where that depends on the task."""
        return None if self.space is None else self.space == "embedding"

    def __call__(self, batch: Batch, partner: Tensor, draws: Draws) -> Plan:
        points, others, index = batch.pair_features(partner, self.space)
        distance = pair_distance(points, index, partners=others, group=batch.group)
        tau = torch.where(distance < 1, self.alpha_near, self.alpha_far).to(distance.dtype)
        return Plan(partner, warp(draws.uniform(len(batch)), tau), tau=tau, distance=distance)


@dataclass(frozen=True)
class InputsOnly:
    """Inputs mixed with λ, targets with ω₀(λ) = 1[λ > ½]: those of the sample that dominates (Mixup-IO)."""

    coefficients: Coefficients

    @property
    def needs_embeddings(self) -> bool | None:
        """As the coefficients inside."""
        return self.coefficients.needs_embeddings

    def __call__(self, batch: Batch, partner: Tensor, draws: Draws) -> Plan:
        plan = self.coefficients(batch, partner, draws)
        return replace(plan, lam_targets=warp(plan.for_targets.lam, 0.0))


@dataclass(frozen=True)
class TargetsOnly:
    """Targets mixed with λ, inputs with ω₀(λ) = 1[λ > ½]: the sample that dominates (Mixup-TO)."""

    coefficients: Coefficients

    @property
    def needs_embeddings(self) -> bool | None:
        """As the coefficients inside."""
        return self.coefficients.needs_embeddings

    def __call__(self, batch: Batch, partner: Tensor, draws: Draws) -> Plan:
        plan = self.coefficients(batch, partner, draws)
        return replace(plan, lam=warp(plan.lam, 0.0), lam_targets=plan.for_targets.lam)


@dataclass(frozen=True)
class Remix:
    """λ^y_i = 0 if N_i/N_j ≥ κ and λ < t; 1 if N_i/N_j ≤ 1/κ and 1-λ < t; else λ.  N: samples of the class.

    Inputs are mixed as in Mixup; targets favour the rarer class. On balanced classes it is Mixup.

    Attributes:
        alpha, per: the law of λ, see :class:`Beta`.
        kappa: how much more frequent one class must be.
        threshold: t, how dominant the frequent one may be before its label is kept.
        counts: samples of each class; counted by ``fit`` where they are not given.

    """

    alpha: float | Tensor = 1.0
    kappa: float = 3.0
    threshold: float = 0.5
    per: str = "batch"
    counts: tuple[float, ...] | None = None
    needs_embeddings: ClassVar[bool] = False
    strength: ClassVar[str] = "alpha"

    def __post_init__(self) -> None:
        Beta(self.alpha, self.per)
        if not checks.positive("kappa", self.kappa) > 1:
            raise ValueError(f"kappa must be > 1, got {self.kappa}: equal classes would count as unequal")
        checks.fraction("threshold", self.threshold)
        if self.counts is not None and not all(count >= 0 for count in self.counts):
            raise ValueError(f"counts must be >= 0, got {self.counts}")

    def fit(self, y: Tensor) -> Remix:
        """The same component with the classes of the training set counted, unless counts were given."""
        if self.counts is not None:
            return self
        if y.is_floating_point() and (y.dim() != 2 or y.shape[1] < 2 or bool((y < 0).any())):
            raise ValueError("Remix counts classes: y must hold class indices or soft rows, got real targets")
        counts = y.sum(0) if y.is_floating_point() else torch.bincount(y)
        return replace(self, counts=tuple(counts.tolist()))

    def __call__(self, batch: Batch, partner: Tensor, draws: Draws) -> Plan:
        n = len(batch)
        lam = draw_beta(self.alpha, n if self.per == "sample" else 1, draws).expand(n)
        frequency = self._frequency(batch)
        ratio = frequency / frequency[partner]
        rarer_partner = (ratio >= self.kappa) & (lam < self.threshold)
        rarer_sample = (ratio <= 1 / self.kappa) & (1 - lam < self.threshold)
        lam_targets = torch.where(rarer_partner, 0.0, torch.where(rarer_sample, 1.0, lam))
        return Plan(partner, lam, lam_targets)

    def _frequency(self, batch: Batch) -> Tensor:
        """N_i, the number of training samples of each sample's class, (n,)."""
        if self.counts is None:
            raise ValueError(
                "Remix needs the number of samples of each class: pass counts=, or call fit(x, y)"
            )
        if not batch.classification:
            raise ValueError("Remix is defined for classification, got real targets")
        y = batch.y
        counts = torch.tensor(self.counts, dtype=torch.float32, device=y.device)
        if y.is_floating_point():
            return y @ counts.to(y.dtype)
        if checks.readable(y) and int(y.max()) >= len(self.counts):
            if batch.num_classes is not None:
                check_range(y, batch.num_classes)
            raise ValueError(f"counts must hold every class, got {len(self.counts)} for class {int(y.max())}")
        return counts[
            y.clamp(0, len(counts) - 1)
        ]  # a label out of range makes its targets NaN, as everywhere


@dataclass(frozen=True)
class SeparatedBetas:
    """λ₁ = max(b, 1-b), λ₂ = min(b', 1-b') with b, b' ~ Beta(α, α), given that λ₁ - λ₂ ≥ margin (MIT).

    Instead of drawing again until the margin holds, which waits for the device at every try, enough
    candidates are drawn at once that one of them holds it but for a probability of 1e-12.

    Attributes:
        alpha: shape of the Beta.
        margin: least difference of the two, in (0, 1).
        candidates: how many are drawn for each.

    """

    alpha: float = 1.0
    margin: float = 0.5
    candidates: int = field(init=False)
    needs_embeddings: ClassVar[bool] = False

    def __post_init__(self) -> None:
        checks.positive("alpha", self.alpha)
        if not 0 < checks.fraction("margin", self.margin) < 1:
            raise ValueError(f"margin must lie strictly between 0 and 1, got {self.margin}")
        if (share := feasible_share(self.alpha, self.margin)) < 1e-3:
            raise ValueError(
                f"margin={self.margin} with alpha={self.alpha} leaves {share:.2g} of all draws: lower one"
            )
        candidates = 1 if share >= 1 else math.ceil(math.log(1e-12) / math.log1p(-share))
        object.__setattr__(self, "candidates", candidates)

    def __call__(self, batch: Batch, partner: Tensor, draws: Draws) -> Plan:
        return Plan(partner, self.pairs(draws, 1)[0].expand(len(batch)))

    def pairs(self, draws: Draws, count: int) -> Tensor:
        """λ₁ and λ₂ of ``count`` draws, (2, count)."""
        b = draw_beta(self.alpha, 2 * count * self.candidates, draws).view(2, count, self.candidates)
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
