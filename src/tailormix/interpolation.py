"""Question (iii): how, and where, are two things blended?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import torch

from tailormix import checks
from tailormix.batch import PER, Batch, Draws, Mixed, Plan
from tailormix.embeddings import find_layer, unwrap

if TYPE_CHECKING:
    from torch import Tensor, nn

GRID = 2**24  # positions that a hidden layer is chosen by


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

    def __call__(self, batch: Batch, plan: Plan, draws: Draws) -> Mixed:
        others = None if batch.pool is None else batch.pool.inputs(plan.partner)
        return Mixed(plan.blend(batch.x, others), plan, batch)


@dataclass(frozen=True)
class CutBox:
    """x̃ = x outside a box and x_σ(i) inside; λ becomes the share of pixels outside (CutMix).

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
        checks.known("per", self.per, PER)
        checks.fraction("probability", self.probability)

    def __call__(self, batch: Batch, plan: Plan, draws: Draws) -> Mixed:
        if batch.x.dim() < 4:
            raise ValueError(
                f"CutMix needs images (n, channels, H, W), got x of shape {tuple(batch.x.shape)}"
            )
        if plan.lam_targets is not None:
            raise ValueError("CutMix weighs labels by area: it takes no other coefficients for targets")
        lam = plan.lam.detach() if self.per == "sample" else plan.lam[:1].detach()
        if self.probability < 1:
            lam = torch.where(draws.uniform(len(lam)) < self.probability, lam, 1.0)
        height, width = batch.x.shape[-2:]
        rows, columns = _inside(height, lam, draws), _inside(width, lam, draws)
        box = rows[:, :, None] & columns[:, None, :]  # (n or 1, H, W)
        share = (1 - box.float().mean((1, 2))).expand(len(batch))
        box = box.reshape(len(box), *(1,) * (batch.x.dim() - 3), height, width)
        others = batch.x[plan.partner] if batch.pool is None else batch.pool.inputs(plan.partner)
        x = torch.where(box, others, batch.x)
        return Mixed(x, replace(plan, lam=share), batch)


def _inside(length: int, lam: Tensor, draws: Draws) -> Tensor:
    """Which of ``length`` pixels lie inside each box along one axis, (m, length); λ is (m,).

    The box reaches ⌊⌊L√(1-λ)⌋/2⌋ pixels to both sides of a uniform centre. It needs no clipping: where it
    leaves the image there are no pixels.
    """
    reach = (length * (1 - lam.float()).sqrt()).floor().div(2).floor()[:, None]
    centre = draws.below(length, len(lam))[:, None]
    pixel = torch.arange(length, device=lam.device)
    return (pixel >= centre - reach) & (pixel < centre + reach)


@dataclass(frozen=True)
class HiddenLayer:
    """h̃ = λ h(x) + (1 - λ) h(x)_σ, where h is the model up to a layer drawn uniformly from a list.

    One forward pass of n samples: the hidden batch is mixed with its own permutation (Manifold Mixup).

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
        for name in names:
            find_layer(model, name)  # an unknown one fails at once, not when it is drawn
        places = [None, *names] if self.inputs else list(names)
        return places[int(position * len(places))]


def default_layers(model: nn.Module) -> tuple[str, ...]:
    """The layers to mix at in a model that names its stages."""
    stages = tuple(getattr(unwrap(model), "stages", ()))
    if not stages:
        raise ValueError(f"{type(unwrap(model)).__name__} does not name its stages: pass layers= with names")
    return stages[1:3] if len(stages) > 2 else stages
