"""MIT: two mixtures of each pair, told apart, each with statistics of its own."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch.nn.modules.batchnorm import _BatchNorm

from tailormix import checks
from tailormix.bags import blend
from tailormix.batch import take
from tailormix.components import SeparatedCoefficients
from tailormix.embeddings import rewrite_output, unwrap
from tailormix.kept import kept_outside
from tailormix.objectives.reduction import as_tensor, num_classes_of, only_classes, reduce

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import Tensor, nn

    from tailormix.batch import Batch
    from tailormix.components import Criterion, Mix


def mix_twice(a: Tensor, b: Tensor, lam: Tensor) -> Tensor:
    """λ₁a + (1-λ₁)b and λ₂a + (1-λ₂)b, with λ of shape (2,), as (2, n, ...)."""
    return torch.lerp(b[None], a[None], lam.to(a.dtype).view(2, *(1,) * a.dim()))


def decouple(first: Tensor, second: Tensor, lam: Tensor) -> Tensor:
    """Undo :func:`mix_twice`: â = [(1-λ₂)u₁ - (1-λ₁)u₂] / (λ₁-λ₂), b̂ = [λ₁u₂ - λ₂u₁] / (λ₁-λ₂).

    >>> a, b, lam = torch.tensor([[4.0]]), torch.tensor([[8.0]]), torch.tensor([0.75, 0.25])
    >>> decouple(*mix_twice(a, b, lam), lam).flatten()
    tensor([4., 8.])
    """
    return mix_twice(first, second, onwards(lam[:, None])[:, 0])


def onwards(lam: Tensor) -> Tensor:
    """Coefficients that take mixtures from each pair in ``lam``, (2, k), to the next, and at last to a and b.

    Decoupling and mixing with λ' are both linear, and together a mix of u₁ and u₂ by (λ'-λ₂) / (λ₁-λ₂).

    >>> onwards(torch.tensor([[0.75], [0.25]]))
    tensor([[ 1.5000],
            [-0.5000]])
    """
    return (torch.cat((lam[:, 1:], _ends(lam.device, lam.dtype)), dim=1) - lam[1]) / (lam[0] - lam[1])


@kept_outside
def _ends(device: torch.device, dtype: torch.dtype) -> Tensor:
    return torch.tensor([[1.0], [0.0]], device=device, dtype=dtype)


@dataclass(frozen=True)
class DecoupledLogits:
    """MIT-L: ½CE(â, y) + ½CE(b̂, y_σ), (â, b̂) decoupled from the logits of two mixtures. Two passes of n."""

    batch_form: ClassVar[bool] = False

    def __call__(self, model: nn.Module, batch: Batch, mix: Mix, criterion: Criterion) -> Tensor:
        law = _separated(mix, batch)
        lam = law.pairs(mix.draws, 1)[:, 0]
        partner = mix.pairing(batch)
        first, second = (as_tensor(model(x)) for x in _mixtures(batch.x, partner, lam).chunk(2))
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
        lam = law.pairs(mix.draws, 1 + len(stages))
        weights = iter(onwards(lam).unbind(1))

        def remixed(stacked: Tensor) -> Tensor:
            first, second = stacked.chunk(2)
            return mix_twice(first, second, next(weights)).flatten(0, 1)

        x = _mixtures(batch.x, partner, lam[:, 0])
        with contextlib.ExitStack() as stack:
            stack.enter_context(normalised_apart(model, groups=2))
            for name in stages:
                stack.enter_context(rewrite_output(model, name, remixed, rows=2 * len(batch)))
            logits = as_tensor(model(x))
        first, second = logits.chunk(2)
        return _halves(mix_twice(first, second, next(weights)), partner, batch, criterion)


def _mixtures(x: Tensor, partner: Tensor, lam: Tensor) -> Tensor:
    """The inputs mixed with their partners' by λ₁ and by λ₂, one below the other, (2n, ...)."""
    first, second = lam.view(2, 1).expand(2, len(x))
    found = blend(x, partner, first, [(partner, second)])
    return mix_twice(x, take(x, partner), lam).flatten(0, 1) if found is None else found[0]


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


@contextlib.contextmanager
def normalised_apart(model: nn.Module, groups: int) -> Iterator[None]:
    """While open, every training BatchNorm layer treats each of ``groups`` equal parts of its batch alone.

    Running statistics are updated once a part, in order: one pass of the stacked parts equals one pass each.
    """
    layers = [module for module in model.modules() if isinstance(module, _BatchNorm) and module.training]
    own = [layer.__dict__.get("forward") for layer in layers]  # other libraries put theirs here, too
    try:
        for layer in layers:
            # An attribute of the instance hides the method of its class until it is deleted.
            layer.__dict__["forward"] = _apart(layer.forward, groups)
        yield
    finally:
        for layer, forward in zip(layers, own, strict=True):
            del layer.__dict__["forward"]
            if forward is not None:
                layer.__dict__["forward"] = forward


def _apart(forward: Callable[[Tensor], Tensor], groups: int) -> Callable[[Tensor], Tensor]:
    return lambda x: torch.cat([forward(part) for part in x.chunk(groups)])
