"""How two things are blended: a box of one is pasted into the other (CutMix)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from tailormix import checks
from tailormix.batch import Batch, Mixed
from tailormix.draws import GRAINS
from tailormix.kept import PRECISE, constant, kept_outside, one, scalar
from tailormix.plan import Plan

if TYPE_CHECKING:
    from torch import Tensor

    from tailormix.draws import Draws

minus_half = constant("minus_half", -0.5)


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
        beside = _beside(lam, height, width, draws)
        share = _share(beside, height, width)
        if self.per == "batch":
            share = share.expand(batch.x.shape[0])
        outside = _outside(beside, height, width)
        if batch.x.dim() != 4:
            outside = outside.view(-1, *(1,) * (batch.x.dim() - 3), height, width)
        if outside.dtype != batch.x.dtype:
            outside = outside.to(batch.x.dtype)
        # lerp_ with weights 0 and 1 copies exactly, and several times faster than where.
        x = batch.partner_inputs(plan.partner).lerp_(batch.x, outside)
        return Mixed(x, Plan(plan.partner, share, None, plan.tau, plan.distance), batch)


def _beside(lam: Tensor, height: int, width: int, draws: Draws) -> Tensor:
    """0.0 for the rows (first) and columns (second) that a box crosses and 1.0 for others, (2, m, pixels).

    The box needs no clipping: where it leaves the image there are no pixels.
    """
    root = torch.rsub(lam.view(-1, 1), one()).sqrt_()
    if height == width:
        length: Tensor | float = scalar(float(width), lam)
        reach = torch.add(minus_half(), root, alpha=width / 2)
    else:
        length = _lengths(height, width, lam.device)
        reach = torch.add(minus_half(), root * length, alpha=0.5)
    centre = draws.uniform(2, lam.shape[0], 1).mul_(length).floor_()  # u ≤ 1 - 2⁻²⁴
    away = (_middles(height, width, lam.device) - centre).abs_()
    # The k-th pixel from the centre, at k + ½, is beside the box if k ≥ ⌊⌊W√(1-λ)⌋/2⌋: if k + 1 > W√(1-λ)/2.
    return away.gt_(reach)


def _share(beside: Tensor, height: int, width: int) -> Tensor:
    """The share of pixels outside each box, (m,): beside it by row, or else by column."""
    if height == width:
        by_row, by_column = beside.sum(2).div_(scalar(float(width), beside)).unbind()
    else:
        by_row, by_column = beside[0, :, :height].mean(1), beside[1, :, :width].mean(1)
    # On other devices an operation of three tensors may want all of them there.
    return torch.lerp(by_row, one() if by_row.is_cpu else torch.ones_like(by_row), by_column)


def _outside(beside: Tensor, height: int, width: int) -> Tensor:
    """1.0 for the pixels outside each box and 0.0 for those inside, (m, 1, H, W)."""
    m, pixels = beside.shape[1:]
    rows = beside.as_strided((m, 1, height, 1), (pixels, 0, 1, 0))
    return torch.maximum(rows, beside.as_strided((m, 1, 1, width), (pixels, 0, 0, 1), m * pixels))


@kept_outside
def _lengths(height: int, width: int, device: torch.device) -> Tensor:
    return torch.tensor([[[height]], [[width]]], dtype=torch.float32, device=device)


@kept_outside
def _middles(height: int, width: int, device: torch.device) -> Tensor:
    """Middles of rows and of columns, (2, 1, pixels); the shorter ones filled up with what no box reaches."""
    middle = torch.arange(max(height, width), dtype=torch.float32, device=device) + 0.5
    both = [torch.where(middle < length, middle, torch.inf) for length in (height, width)]
    return torch.stack(both)[:, None]
