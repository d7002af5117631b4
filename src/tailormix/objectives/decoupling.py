"""What is learned: the two clean samples, told apart again from two mixtures of them (MIT)."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from tailormix import checks
from tailormix.embeddings import rewrite_output, unwrap
from tailormix.objectives.grouped_norm import normalised_apart
from tailormix.objectives.reduction import as_tensor, num_classes_of, only_classes, reduce
from tailormix.plan import take
from tailormix.words import SeparatedCoefficients

if TYPE_CHECKING:
    from torch import Tensor, nn

    from tailormix.batch import Batch
    from tailormix.draws import Draws
    from tailormix.words import Criterion, Mix

Pair = tuple["Tensor", "Tensor"]


def mix_twice(a: Tensor, b: Tensor, lam: Pair) -> Tensor:
    """λ₁a + (1-λ₁)b and λ₂a + (1-λ₂)b, with λ of shape (1,), as (2, n, ...)."""
    weight = torch.stack(lam).to(a.dtype).view(2, *(1,) * a.dim())
    return torch.lerp(b[None], a[None], weight)


def decouple(first: Tensor, second: Tensor, lam: Pair) -> Tensor:
    """Undo :func:`mix_twice`: â = [(1-λ₂)u₁ - (1-λ₁)u₂] / (λ₁-λ₂), b̂ = [λ₁u₂ - λ₂u₁] / (λ₁-λ₂).

    >>> a, b, lam = torch.tensor([[4.0]]), torch.tensor([[8.0]]), (torch.tensor([0.75]), torch.tensor([0.25]))
    >>> decouple(*mix_twice(a, b, lam), lam).flatten()
    tensor([4., 8.])
    """
    return remix(first, second, lam, (torch.ones_like(lam[0]), torch.zeros_like(lam[1])))


def remix(first: Tensor, second: Tensor, lam: Pair, fresh: Pair) -> Tensor:
    """The two mixtures with coefficients ``lam`` as they would be with ``fresh`` ones, (2, n, ...).

    Decoupling and mixing with λ' are both linear, and together a mix of u₁ and u₂ by (λ'-λ₂) / (λ₁-λ₂).
    """
    one, two = lam
    return mix_twice(first, second, ((fresh[0] - two) / (one - two), (fresh[1] - two) / (one - two)))


@dataclass(frozen=True)
class DecoupledLogits:
    """MIT-L: ½CE(â, y) + ½CE(b̂, y_σ), (â, b̂) decoupled from the logits of two mixtures. Two passes of n."""

    batch_form: ClassVar[bool] = False

    def __call__(self, model: nn.Module, batch: Batch, mix: Mix, criterion: Criterion) -> Tensor:
        law = _separated(mix, batch)
        lam = law.pair(mix.draws)
        partner = mix.pairing(batch)
        mixtures = mix_twice(batch.x, batch.partner_inputs(partner), lam)
        first, second = (as_tensor(model(x)) for x in mixtures)
        return _halves(decouple(first, second, lam), partner, batch, criterion)


@dataclass(frozen=True)
class DecoupledStages:
    """MIT-A: as MIT-L, and after every stage decoupled and mixed again with fresh coefficients.

    Both mixtures run in one pass of 2n samples, in which BatchNorm layers treat the halves apart, as in two.

    Attributes:
        layers: the stages, by the names of their layers; those that the model declares by default.

    """

    layers: tuple[str, ...] | None = None
    batch_form: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.layers is not None:
            object.__setattr__(self, "layers", checks.names("layers", self.layers))

    def __call__(self, model: nn.Module, batch: Batch, mix: Mix, criterion: Criterion) -> Tensor:
        law = _separated(mix, batch)
        stages = self.layers or tuple(getattr(unwrap(model), "stages", ()))
        if not stages:
            raise ValueError(
                f"{type(unwrap(model)).__name__} does not name its stages: pass layers= with names of layers "
                "to decouple at, or use MIT-L, which needs none"
            )
        partner = mix.pairing(batch)
        stream = _Stream(law, mix.draws)
        x = stream.mix(batch.x, batch.partner_inputs(partner))
        with contextlib.ExitStack() as stack:
            stack.enter_context(normalised_apart(model, groups=2))
            for name in stages:
                stack.enter_context(rewrite_output(model, name, stream.remix, rows=2 * len(batch)))
            logits = as_tensor(model(x))
        return _halves(stream.decouple(logits), partner, batch, criterion)


class _Stream:
    """Two mixtures on their way through a model, stacked as 2n rows, and the coefficients they carry."""

    def __init__(self, law: SeparatedCoefficients, draws: Draws) -> None:
        self.law, self.draws = law, draws

    def mix(self, a: Tensor, b: Tensor) -> Tensor:
        self.lam = self.law.pair(self.draws)
        return mix_twice(a, b, self.lam).flatten(0, 1)

    def decouple(self, stacked: Tensor) -> Tensor:
        first, second = stacked.chunk(2)
        return decouple(first, second, self.lam)

    def remix(self, stacked: Tensor) -> Tensor:
        first, second = stacked.chunk(2)
        before, self.lam = self.lam, self.law.pair(self.draws)
        return remix(first, second, before, self.lam).flatten(0, 1)


def _separated(mix: Mix, batch: Batch) -> SeparatedCoefficients:
    only_classes("MIT", batch)
    if batch.pool is not None:
        raise ValueError("MIT tells both samples of a pair apart: it takes no partners from the pool")
    if not isinstance(mix.coefficients, SeparatedCoefficients):
        raise TypeError(
            f"MIT needs pairs of coefficients, got {type(mix.coefficients).__name__}: use SeparatedBetas"
        )
    return mix.coefficients


def _halves(decoupled: Tensor, partner: Tensor, batch: Batch, criterion: Criterion) -> Tensor:
    """½ criterion(â, y) + ½ criterion(b̂, y_σ)."""
    mine, theirs = decoupled
    num_classes_of(mine, batch)
    weights = (None, None) if batch.weight is None else (batch.weight, take(batch.weight, partner))
    first = reduce(criterion(mine, batch.y), len(batch), weights[0])
    second = reduce(criterion(theirs, take(batch.y, partner)), len(batch), weights[1])
    return 0.5 * (first + second)
