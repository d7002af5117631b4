"""How strongly: inputs as in Mixup, targets in favour of the rarer class (Remix)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import torch

from tailormix import checks
from tailormix.coefficients.beta import Beta
from tailormix.kept import kept, readable
from tailormix.plan import check_range, take

if TYPE_CHECKING:
    from torch import Tensor

    from tailormix.batch import Batch
    from tailormix.draws import Draws
    from tailormix.plan import Plan


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
