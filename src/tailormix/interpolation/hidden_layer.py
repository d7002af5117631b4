"""Where two things are blended: at a layer inside the model, drawn anew for each batch (Manifold Mixup)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tailormix import checks
from tailormix.batch import Batch, Mixed
from tailormix.embeddings import unwrap

if TYPE_CHECKING:
    from torch import nn

    from tailormix.draws import Draws
    from tailormix.plan import Plan

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
