"""Batches of a whole epoch, mixed at once: a small model learns from one in the time it takes to mix it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from tailormix.batch import Batch, Plan, check_batch, check_range
from tailormix.data.splits import MemorySplit
from tailormix.draws import Draws
from tailormix.objectives.mixed import CleanTargets, MixedTargets
from tailormix.objectives.reduction import cross_entropy, needs_ids, squared_error
from tailormix.training.one_cpu import OneCPU
from tailormix.training.seeding import Stream, derive, reseed

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from tailormix.components import Criterion
    from tailormix.method import Method, Step
    from tailormix.training.state import Run


SMALL = 2**20  # numbers in a training set up to which an epoch of it is mixed at once

MixedBatch = tuple["Tensor", "Tensor"]


def mixed_epoch(run: Run, epoch: int) -> list[MixedBatch]:
    """The whole batches of an epoch, mixed, from a stream of their own; none where steps are to mix.

    What is left to do with them is plain training (:func:`plain_step`).
    """
    method, train = run.parts.method, run.parts.data.train
    alone = isinstance(run.fabric, OneCPU)  # one process has an epoch to itself, and memory of the CPU
    if not (alone and isinstance(train, MemorySplit) and mixable(method, train, run.parts.criterion)):
        return []
    whole = [rows for rows in run.sampler.batches(epoch) if len(rows) == run.settings.batch]
    if not whole:
        return []
    reseed(derive(run.settings.seed, Stream.AHEAD, epoch), run.fabric.device)
    x, y = train.batch(torch.cat(whole))
    return mixed(method, *(each.view(len(whole), -1, *each.shape[1:]) for each in (x, y)))


def plain_step(step: Step) -> Callable[..., Tensor]:
    """The same step for batches that are mixed already: the loss of targets as they are."""
    model, criterion, objective, classes = step.model, step.criterion, CleanTargets(), step.method.num_classes
    if criterion is None:
        criterion = squared_error if classes is None else cross_entropy

    def loss(x: Tensor, y: Tensor) -> Tensor:
        return objective(model, Batch(x, y, classes), None, criterion)

    return loss


def mixable(method: Method, train: MemorySplit, criterion: Criterion | None) -> bool:
    """Whether mixed batches follow from small data as they are, and are all that a step asks for."""
    words = (method.pairs, method.coefficients)
    if not all(getattr(word, "vectorised", False) for word in words):
        return False
    if not getattr(method.interpolation, "rowwise", False) or type(method.objective) is not MixedTargets:
        return False
    if method.pooled or (criterion and needs_ids(criterion)):
        return False
    classes = method.num_classes is not None or not train.targets.is_floating_point()
    if any(classes if word.needs_embeddings is None else word.needs_embeddings for word in words):
        return False
    if classes and (method.num_classes is None or len(train) * method.num_classes > SMALL):
        return False
    return train.transform is None and all(_small(each) for each in (train.inputs, train.targets))


def mixed(method: Method, x: Tensor, y: Tensor) -> list[MixedBatch]:
    """The batch form of each of b batches, given as (b, n, ...)."""
    whole = Batch(x.flatten(0, 1), y.flatten(0, 1), method.num_classes)
    check_batch(whole)
    if method.num_classes is not None and not y.is_floating_point():
        check_range(y, method.num_classes)
    n = x.shape[1]
    result = method.interpolation(whole, _plans(method, x, y), Draws(x.device))
    return list(zip(torch.split(result.x, n), torch.split(result.targets(), n), strict=True))


def _plans(method: Method, x: Tensor, y: Tensor) -> Plan:
    """A plan for each of b batches (b, n, ...), put together to one for b · n rows."""

    def draw(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        batch, draws = Batch(x, y, method.num_classes), Draws(x.device)
        plan = method.coefficients(batch, method.pairs(batch, draws), draws)
        fields = (plan.partner, plan.lam, plan.lam_targets)
        return tuple(field for field in fields if field is not None)

    partner, *lams = torch.func.vmap(draw, randomness="different")(x, y)
    first = torch.arange(0, partner.numel(), partner.shape[1], device=partner.device)
    return Plan((partner + first[:, None]).flatten(), *(lam.flatten() for lam in lams))


def _small(values: Tensor) -> bool:
    """Whether there are few numbers, and numbers they are: others get the step's own error."""
    return values.numel() <= SMALL and bool(values.isfinite().all())
