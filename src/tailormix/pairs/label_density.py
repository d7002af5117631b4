"""Who is mixed with whom: samples with similar labels, by a Gaussian density (C-Mixup)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from tailormix import checks
from tailormix.pairs.random_pairs import SOURCES

if TYPE_CHECKING:
    from torch import Tensor

    from tailormix.batch import Batch
    from tailormix.draws import Draws


@dataclass(frozen=True)
class LabelDensity:
    """P(σ(i) = j) ∝ exp(-‖y_i - y_j‖² / (2h²)) over the training set, i itself included.

    Only the rows of the batch are ever formed, (n, N) numbers at a time: there is no N×N table to prepare.

    Attributes:
        bandwidth: h, on the scale of the labels.
        source: ``"pool"`` (the training set, given to ``fit``) or ``"batch"``.

    """

    bandwidth: float = 1.0
    source: str = "pool"
    needs_embeddings: ClassVar[bool] = False

    def __post_init__(self) -> None:
        checks.positive("bandwidth", self.bandwidth)
        checks.known("source", self.source, SOURCES)

    @property
    def pooled(self) -> bool:
        """Whether partners come from the pool."""
        return self.source == "pool"

    def __call__(self, batch: Batch, draws: Draws) -> Tensor:
        if batch.classification:
            raise ValueError("label-density pairs (C-Mixup) need real targets, got class labels")
        labels = batch.y if batch.pool is None else batch.pool.y
        share = density(_rows(batch.y), _rows(labels).to(batch.y.device), self.bandwidth).cumsum_(1)
        level = draws.uniform(len(batch), 1).to(share.dtype) * share[:, -1:]
        return torch.searchsorted(share, level, right=True).squeeze(1).clamp_(max=share.shape[1] - 1)


def density(points: Tensor, labels: Tensor, bandwidth: float) -> Tensor:
    """exp(-‖p_i - y_j‖² / (2h²)) of shape (n, N), scaled by row so that its largest entry is 1.

    >>> density(torch.tensor([[0.0]]), torch.tensor([[0.0], [1.0]]), bandwidth=1.0)
    tensor([[1.0000, 0.6065]])
    """
    # Differences themselves: the usual ‖a‖² + ‖b‖² - 2ab loses them for labels far from 0 and a small h.
    gap = torch.cdist(points, labels, compute_mode="donot_use_mm_for_euclid_dist")
    exponent = gap.div_(bandwidth).square_().mul_(-0.5)
    return exponent.sub_(exponent.amax(1, keepdim=True)).exp_()


def _rows(y: Tensor) -> Tensor:
    """(N, ...) → (N, d) in float64."""
    return y.reshape(y.shape[0], -1).double()
