"""Plans of a whole epoch at once: a small model learns from a batch in the time it takes to plan one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from tailormix.batch import Batch
from tailormix.data.access.memory import MemorySplit
from tailormix.draws import Draws
from tailormix.plan import Plan, check_range

from .one_cpu import OneCPU
from .seeds import Stream, derive, reseed

if TYPE_CHECKING:
    from torch import Tensor

    from tailormix.method import Method

    from .saving import Run

SMALL = 2**20  # numbers in a training set up to which an epoch of it is looked at at once


def epoch_plans(run: Run, epoch: int) -> list[Plan | None]:
    """What to mix in each step of an epoch, from a stream of its own; None where the step is to draw it."""
    method, train, whole = run.parts.method, run.parts.data.train, []
    alone = isinstance(run.fabric, OneCPU)  # Fabric hands no plans on
    if alone and isinstance(train, MemorySplit) and plannable(method, train):
        whole = [rows for rows in run.sampler.batches(epoch) if len(rows) == run.settings.batch]
    if not whole:
        return [None] * run.sampler.steps
    reseed(derive(run.settings.seed, Stream.PLANS, epoch), run.fabric.device)
    x, y = train.batch(torch.cat(whole))
    x, y = (each.view(len(whole), -1, *each.shape[1:]) for each in (x, y))
    return [*plans(method, x, y), *[None] * (run.sampler.steps - len(whole))]


def plannable(method: Method, train: MemorySplit) -> bool:
    """Whether plans follow from small data as they are, and one plan is all that a step asks for."""
    words = (method.pairs, method.coefficients)
    if method.pairs.pooled or not method.objective.batch_form:
        return False
    if not all(getattr(word, "vectorised", False) for word in words):
        return False
    classes = method.num_classes is not None or not train.targets.is_floating_point()
    if any(classes if word.needs_embeddings is None else word.needs_embeddings for word in words):
        return False
    return train.transform is None and all(_small(each) for each in (train.inputs, train.targets))


def plans(method: Method, x: Tensor, y: Tensor) -> list[Plan]:
    """A plan for each of b batches, given as (b, n, ...)."""

    def draw(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        batch, draws = Batch(x, y, method.num_classes), Draws(x.device)
        plan = method.coefficients(batch, method.pairs(batch, draws), draws)
        fields = (plan.partner, plan.lam, plan.lam_targets)
        return tuple(field for field in fields if field is not None)

    if method.num_classes is not None and not y.is_floating_point():
        check_range(y, method.num_classes)
    drawn = torch.func.vmap(draw, randomness="different")(x, y)
    return [Plan(*fields) for fields in zip(*(field.unbind() for field in drawn), strict=True)]


def _small(values: Tensor) -> bool:
    """Whether there are few numbers, and numbers they are: others get the step's own error."""
    return values.numel() <= SMALL and bool(values.isfinite().all())
