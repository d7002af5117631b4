"""How two things are blended: a box of one is pasted into the other (CutMix)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from tailormix import checks
from tailormix.batch import Batch, Mixed
from tailormix.draws import GRAINS
from tailormix.kept import PRECISE, kept_outside, scalar
from tailormix.plan import Plan

if TYPE_CHECKING:
    from torch import Tensor

    from tailormix.draws import Draws


KEPT = 2**10  # rows, or columns, up to which a table of all boxes is kept


@dataclass(frozen=True)
class CutBox:
    """x̃ = x outside a box and x_σ(i) inside; λ becomes the share of pixels outside.

    The box has sides ⌊W√(1-λ)⌋ and ⌊H√(1-λ)⌋ (less one pixel where odd) around a uniform pixel, and is
    clipped at the border of the image.

    Attributes:
        per: one box for the ``"batch"`` (from the first λ) or one for each ``"sample"``.
        probability: share of the batches, or samples, that get a box at all.

    """

    per: str = "batch"
    probability: float = 1.0
    batch_form: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checks.known("per", self.per, GRAINS)
        checks.fraction("probability", self.probability)

    def __call__(self, batch: Batch, plan: Plan, draws: Draws) -> Mixed:
        if batch.x.dim() < 4:
            raise ValueError(
                f"CutMix needs images (n, channels, H, W), got x of shape {tuple(batch.x.shape)}"
            )
        if plan.lam_targets is not None:
            raise ValueError("CutMix weighs labels by area: it takes no other coefficients for targets")
        height, width = batch.x.shape[-2:]
        lam = plan.lam if self.per == "sample" else plan.lam[:1]
        if lam.requires_grad or lam.dtype not in PRECISE:
            lam = lam.detach().float()
        if self.probability < 1:
            lam = torch.where(draws.uniform(lam.shape[0]) < self.probability, lam, 1.0)
        limit = lam.view(-1, 1)
        rows, columns = _beside(height, limit, draws), _beside(width, limit, draws)
        outside = torch.maximum(rows.view(-1, 1, height, 1), columns.view(-1, 1, 1, width))
        share = outside.sum((1, 2, 3)).div_(scalar(float(height * width), outside))
        if self.per == "batch":
            share = share.expand(batch.x.shape[0])
        if batch.x.dim() != 4:
            outside = outside.view(-1, *(1,) * (batch.x.dim() - 3), height, width)
        if outside.dtype != batch.x.dtype:
            outside = outside.to(batch.x.dtype)
        # lerp_ with weights 0 and 1 copies exactly, and several times faster than where.
        x = batch.partner_inputs(plan.partner).lerp_(batch.x, outside)
        return Mixed(x, Plan(plan.partner, share, None, plan.tau, plan.distance), batch)


def _beside(length: int, lam: Tensor, draws: Draws) -> Tensor:
    """1.0 for rows, or columns, beside each box and 0.0 for those that cross it, (m, length); λ is (m, 1).

    The box needs no clipping: where it leaves the image there are no pixels.
    """
    centre = draws.below(length, lam.shape[0])
    if length > KEPT:
        return _least(centre, length).lt_(lam)
    return _table(length, lam.device).index_select(0, centre).lt_(lam)


@kept_outside
def _table(length: int, device: torch.device) -> Tensor:
    """Those of every centre, (length, length)."""
    return _least(torch.arange(length, device=device), length)


def _least(centre: Tensor, length: int) -> Tensor:
    """The λ above which a box around each centre leaves out each pixel, (m, length).

    The box reaches ⌊⌊L√(1-λ)⌋/2⌋ pixels to both sides. With k pixels between, it ends before the next one if
    k + 1 > L√(1-λ)/2.
    """
    middles = torch.arange(length, dtype=torch.float32, device=centre.device) + 0.5
    between = (middles - centre[:, None]).abs() - 0.5
    return (length**2 - (2 * between + 2).square()) / length**2  # rounded once
