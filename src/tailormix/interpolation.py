"""Question (iii): how, and where, are two things blended?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from tailormix import checks
from tailormix.bags import blend
from tailormix.batch import Batch, Mixed, Plan, mix
from tailormix.draws import GRAINS
from tailormix.embeddings import unwrap
from tailormix.kept import PRECISE, kept_outside, scalar

if TYPE_CHECKING:
    from torch import Tensor, nn

    from tailormix.draws import Draws

__all__ = ["CutBox", "HiddenLayer", "Identity", "Linear"]


@dataclass(frozen=True)
class Identity:
    """x̃_i = x_i."""

    batch_form: ClassVar[bool] = True

    def __call__(self, batch: Batch, plan: Plan, draws: Draws) -> Mixed:
        return Mixed(batch.x, plan, batch)


@dataclass(frozen=True)
class Linear:
    """x̃_i = λ_i x_i + (1 - λ_i) x_σ(i)."""

    batch_form: ClassVar[bool] = True
    rowwise: ClassVar[bool] = True

    def __call__(self, batch: Batch, plan: Plan, draws: Draws) -> Mixed:
        if batch.pool is None:
            found = blend(batch.x, plan.partner, plan.lam)
            if found is not None:
                return Mixed(found[0], plan, batch, bags=(plan, found[1]))
        return Mixed(mix(batch.x, batch.partner_inputs(plan.partner), plan.lam), plan, batch)


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


GRID = 2**24  # positions that the layer is chosen by


@dataclass(frozen=True)
class HiddenLayer:
    """h̃ = λ h(x) + (1 - λ) h(x)_σ, where h is the model up to a layer drawn uniformly from a list.

    One forward pass of n samples: the hidden batch is mixed with its own permutation.

    Attributes:
        layers: names of layers, as in ``model.named_modules()``, whose outputs may be mixed. By default those
            that the model declares: its second and third stage (after the stem), or all if it has fewer.
        inputs: whether the input is one of the places, as in the published method.

    """

    layers: tuple[str, ...] | None = None
    inputs: bool = True
    batch_form: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.layers is not None:
            object.__setattr__(self, "layers", checks.names("layers", self.layers))
        if self.layers == () and not self.inputs:
            raise ValueError("layers must name at least one layer where inputs=False, got ()")

    def __call__(self, batch: Batch, plan: Plan, draws: Draws) -> Mixed:
        position = draws.choice(GRID) / GRID
        return Mixed(batch.x, plan, batch, place=lambda model: self.place(model, position))

    def place(self, model: nn.Module, position: float) -> str | None:
        """The layer at a position in [0, 1) of the list, ``None`` for the input."""
        names = default_layers(model) if self.layers is None else self.layers
        places: list[str | None] = [None] if self.inputs else []
        places.extend(names)
        return places[int(position * len(places))]


def default_layers(model: nn.Module) -> tuple[str, ...]:
    """The layers to mix at in a model that names its stages."""
    stages = tuple(getattr(unwrap(model), "stages", ()))
    if not stages:
        raise ValueError(f"{type(unwrap(model)).__name__} does not name its stages: pass layers= with names")
    return stages[1:3] if len(stages) > 2 else stages
