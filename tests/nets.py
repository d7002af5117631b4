"""Shared by the tests of the methods: small models that count, components and draws with known values."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn

from tailormix import Plan
from tailormix.batch import Batch, Draws

if TYPE_CHECKING:
    from collections.abc import Callable


class Staged(nn.Module):
    """Three stages and a head; records how many rows each pass had, and whether with gradient."""

    stages: ClassVar[tuple[str, ...]] = ("stem", "middle", "last")
    embedding_layer: ClassVar[str] = "head"

    def __init__(
        self,
        inputs: int = 4,
        outputs: int = 3,
        norm: Callable[[int], nn.Module] = nn.Identity,
        activation: Callable[[], nn.Module] = nn.Tanh,
        flat: bool = False,
    ) -> None:
        super().__init__()
        self.flat = flat
        self.stem = nn.Sequential(nn.Flatten(), nn.Linear(inputs, 8), norm(8), activation())
        self.middle = nn.Sequential(nn.Linear(8, 8), norm(8), activation())
        self.last = nn.Sequential(nn.Linear(8, 6), norm(6), activation())
        self.head = nn.Linear(6, outputs)
        self.calls: list[tuple[int, bool]] = []

    def forward(self, x: Tensor) -> Tensor:
        self.calls.append((x.shape[0], torch.is_grad_enabled()))
        outputs = self.head(self.last(self.middle(self.stem(x))))
        return outputs.flatten() if self.flat else outputs


class Square(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.square()


class Scripted:
    """Draws whose uniforms are written down in advance, one list per call."""

    device = torch.device("cpu")

    def __init__(self, *values: list[float]) -> None:
        self.values = list(values)

    def uniform(self, *shape: int) -> Tensor:
        return torch.tensor(self.values.pop(0)).view(shape)

    def below(self, n: int, count: int) -> Tensor:
        return (self.uniform(count) * n).long()


class GivenPairs:
    """Pairs of coefficients (λ₁, λ₂) that are written down in advance."""

    needs_embeddings = False

    def __init__(self, *pairs: tuple[float, float]) -> None:
        self.left = list(pairs)

    def pairs(self, _draws: Draws, count: int) -> Tensor:
        taken, self.left = self.left[:count], self.left[count:]
        return torch.tensor(taken).T


class Recorder:
    """A criterion that keeps what it is given; its loss is the mean of all predictions."""

    def __init__(self) -> None:
        self.seen: list[tuple[Tensor, Tensor]] = []

    def __call__(self, predictions: Tensor, targets: Tensor) -> Tensor:
        self.seen.append((predictions, targets))
        return predictions.flatten(1).mean(1)


def plan(partner: list[int], lam: float | list[float]) -> Plan:
    """Build a plan from plain numbers; one λ stands for all."""
    values = torch.tensor(lam)
    return Plan(torch.tensor(partner), values.expand(len(partner)))


def batch(x: Tensor | list[list[float]], y: Tensor | list[int], **more: object) -> Batch:
    """Build a batch from plain numbers."""
    return Batch(torch.as_tensor(x), torch.as_tensor(y), **more)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)
