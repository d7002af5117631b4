"""What each method's own code costs, outside the model's passes, against plain Mixup's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from benchmarks.record import Record, record
from tailormix import METHODS, Mixup, build_method
from tailormix.benching.timing import Contender, race

if TYPE_CHECKING:
    from tailormix import Method

SHAPE, CLASSES, WIDTH = (128, 3, 32, 32), 10, 64
PLAIN = "mixup, α = 0.2"
BLENDED = {"rankmixup": 3, "mit-l": 2, "mit-a": 2}  # batches that a step blends, one otherwise
WITHOUT_TARGET = ("c-mixup", "k-mixup", "erm")
TARGET = 1.5


class Nothing(nn.Module):
    """A model that costs next to nothing: what is left of a step is the method's own code."""

    stages = ("stage",)

    def __init__(self) -> None:
        super().__init__()
        self.stage, self.head = nn.Identity(), nn.Linear(WIDTH, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits from the first pixels."""
        logits: torch.Tensor = self.head(self.stage(x).flatten(1)[:, :WIDTH])
        return logits


def run(quick: bool) -> list[Record]:
    """Time one step's loss of every method on a model that costs nothing."""
    generator = torch.Generator().manual_seed(0)
    x, y = torch.rand(SHAPE, generator=generator), torch.randint(CLASSES, SHAPE[:1], generator=generator)
    h, real = torch.randn(SHAPE[0], WIDTH, generator=generator), torch.rand(SHAPE[0], 1, generator=generator)
    model = Nothing()

    def step(method: Method) -> Contender:
        return lambda: method.loss(model, x, y, embeddings=h)

    c_mixup, narrow = build_method("c-mixup").fit(x, real), nn.Sequential(model, nn.Linear(CLASSES, 1))
    contenders: dict[str, Contender] = {PLAIN: step(Mixup(alpha=0.2))}
    contenders |= {name: step(build_method(name).fit(x, y)) for name in METHODS if name != "c-mixup"}
    contenders["c-mixup"] = lambda: c_mixup.loss(narrow, x, real)
    with torch.no_grad():
        timings = race(contenders, seconds=0.02 if quick else 1.0, calls=1)
    rows = []
    for name in METHODS:
        target = None if name in WITHOUT_TARGET else TARGET * BLENDED.get(name, 1)
        rows.append(record("own code of a step", "128×3×32×32", name, timings, against=PLAIN, at_most=target))
    return rows
