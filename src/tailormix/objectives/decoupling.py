"""Learn two clean samples, told apart again from two mixtures of them (MIT)."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import nn

from tailormix import checks
from tailormix.components import SeparatedCoefficients
from tailormix.embeddings import outside_compiled_code, rewrite_output, unwrap
from tailormix.objectives.mixed import as_tensor, num_classes_of, only_classes, reduce

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import Tensor

    from tailormix.batch import Batch
    from tailormix.components import Criterion, Mix

BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)


@dataclass(frozen=True)
class DecoupledLogits:
    """MIT-L: ½CE(â, y) + ½CE(b̂, y_σ), (â, b̂) decoupled from the logits of two mixtures. Two passes of n."""

    batch_form: ClassVar[bool] = False

    def __call__(self, model: nn.Module, batch: Batch, mix: Mix, criterion: Criterion) -> Tensor:
        lam = _separated(mix, batch).pairs(mix.draws, 1)[:, 0]
        partner = mix.pairing(batch)
        first, second = (as_tensor(model(x)) for x in mix_twice(batch.x, batch.x[partner], lam))
        return _both_losses(decouple(first, second, lam), partner, batch, criterion)


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

    @outside_compiled_code
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
        weights = iter(remixing(lam).unbind(1))

        def remixed(stacked: Tensor) -> Tensor:
            first, second = stacked.chunk(2)
            return mix_twice(first, second, next(weights)).flatten(0, 1)

        x = mix_twice(batch.x, batch.x[partner], lam[:, 0]).flatten(0, 1)
        with contextlib.ExitStack() as stack:
            stack.enter_context(grouped_batch_norm(model, groups=2))
            for name in stages:
                stack.enter_context(rewrite_output(model, name, remixed, rows=2 * len(batch)))
            logits = as_tensor(model(x))
        first, second = logits.chunk(2)
        return _both_losses(mix_twice(first, second, next(weights)), partner, batch, criterion)


def mix_twice(a: Tensor, b: Tensor, lam: Tensor) -> Tensor:
    """λ₁a + (1-λ₁)b and λ₂a + (1-λ₂)b, with λ of shape (2,), as (2, n, ...)."""
    return torch.lerp(b[None], a[None], lam.to(a.dtype).view(2, *(1,) * a.dim()))


def decouple(first: Tensor, second: Tensor, lam: Tensor) -> Tensor:
    """Undo :func:`mix_twice`: â = [(1-λ₂)u₁ - (1-λ₁)u₂] / (λ₁-λ₂), b̂ = [λ₁u₂ - λ₂u₁] / (λ₁-λ₂).

    >>> a, b, lam = torch.tensor([[4.0]]), torch.tensor([[8.0]]), torch.tensor([0.75, 0.25])
    >>> decouple(*mix_twice(a, b, lam), lam).flatten()
    tensor([4., 8.])
    """
    return mix_twice(first, second, remixing(lam[:, None])[:, 0])


def remixing(lam: Tensor) -> Tensor:
    """Coefficients that take mixtures from each pair in ``lam``, (2, k), to the next, and at last to a and b.

    Decoupling and mixing with λ' are both linear, and together a mix of u₁ and u₂ by (λ'-λ₂) / (λ₁-λ₂).

    >>> remixing(torch.tensor([[0.75], [0.25]]))
    tensor([[ 1.5000],
            [-0.5000]])
    """
    ends = torch.stack((torch.ones_like(lam[0, :1]), torch.zeros_like(lam[0, :1])))
    return (torch.cat((lam[:, 1:], ends), dim=1) - lam[1]) / (lam[0] - lam[1])


@contextlib.contextmanager
def grouped_batch_norm(model: nn.Module, groups: int) -> Iterator[None]:
    """While open, BatchNorm layers in training mode normalise each of ``groups`` equal parts alone.

    Running statistics are updated once per part, in order: a pass of the stacked parts equals one pass each.
    """
    layers = [module for module in model.modules() if isinstance(module, BATCH_NORMS) and module.training]
    before = [layer.__dict__.get("forward") for layer in layers]  # other libraries put theirs here, too
    try:
        for layer in layers:
            # An attribute of the instance hides the method of its class until it is deleted.
            layer.__dict__["forward"] = _by_groups(layer.forward, groups)
        yield
    finally:
        for layer, forward in zip(layers, before, strict=True):
            del layer.__dict__["forward"]
            if forward is not None:
                layer.__dict__["forward"] = forward


def _by_groups(forward: Callable[[Tensor], Tensor], groups: int) -> Callable[[Tensor], Tensor]:
    return lambda x: torch.cat([forward(part) for part in x.chunk(groups)])


def _separated(mix: Mix, batch: Batch) -> SeparatedCoefficients:
    only_classes("MIT", batch)
    if batch.pool is not None:
        raise ValueError("MIT tells both samples of a pair apart: it takes no partners from the pool")
    if not isinstance(mix.coefficients, SeparatedCoefficients):
        raise TypeError(
            f"MIT needs pairs of coefficients, got {type(mix.coefficients).__name__}: use SeparatedBetas"
        )
    return mix.coefficients


def _both_losses(decoupled: Tensor, partner: Tensor, batch: Batch, criterion: Criterion) -> Tensor:
    """½ criterion(â, y) + ½ criterion(b̂, y_σ)."""
    mine, theirs = decoupled
    num_classes_of(mine, batch)
    weight = batch.weight
    first = reduce(criterion(mine, batch.y), len(batch), weight)
    second = reduce(
        criterion(theirs, batch.y[partner]), len(batch), None if weight is None else weight[partner]
    )
    return 0.5 * (first + second)
