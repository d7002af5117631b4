"""How two things are blended: a box of one is pasted into the other (CutMix)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import torch

from tailormix import checks
from tailormix.batch import Batch, Mixed
from tailormix.draws import GRAINS
from tailormix.kept import kept, scalar

if TYPE_CHECKING:
    from torch import Tensor

    from tailormix.draws import Draws
    from tailormix.plan import Plan


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
        if self.probability < 1:
            lam = torch.where(draws.uniform(lam.shape[0]) < self.probability, lam, 1.0)
        one = scalar(1.0, lam)
        start, stop = _box(torch.rsub(lam, one).sqrt_(), height, width, draws)
        rows, columns = (stop - start).unbind()
        kept_share = torch.rsub((rows * columns).mul_(scalar(1 / (height * width), lam)), one)
        outside = _outside(start, stop, height, width).to(batch.x.dtype)
        outside = outside.view(-1, *(1,) * (batch.x.dim() - 3), height, width)
        # lerp_ with weights 0 and 1 copies exactly, and several times faster than where.
        x = batch.partner_inputs(plan.partner).lerp_(batch.x, outside)
        return Mixed(x, replace(plan, lam=kept_share.expand(len(batch))), batch)


def _box(side: Tensor, height: int, width: int, draws: Draws) -> tuple[Tensor, Tensor]:
    """First and one past last pixel of a box, clipped: rows and columns as (2, m) whole numbers."""
    size = _lengths(height, width, side.device)
    half = (side * size).mul_(scalar(0.5, size)).floor_()  # ⌊⌊W√(1-λ)⌋/2⌋
    centre = (draws.uniform(2, side.shape[0]) * size).floor_()  # below the length: u is at most 1 - 2⁻²⁴
    return (centre - half).clamp_(min=0), torch.minimum(centre + half, size)


def _outside(start: Tensor, stop: Tensor, height: int, width: int) -> Tensor:
    """0.0 inside the box and 1.0 elsewhere, (m, height, width)."""
    pixel = _pixels(max(height, width), start.device)
    beside = ((pixel < start[:, :, None]) | (pixel >= stop[:, :, None])).float()
    return torch.maximum(beside[0, :, :height, None], beside[1, :, None, :width])


@kept
def _pixels(length: int, device: torch.device) -> Tensor:
    return torch.arange(length, dtype=torch.float32, device=device)


@kept
def _lengths(height: int, width: int, device: torch.device) -> Tensor:
    return torch.tensor([[height], [width]], dtype=torch.float32, device=device)
