"""Several batches as one: what objectives share that run the model on more than the mixed batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.compiler import is_compiling

from tailormix.bags import blend
from tailormix.batch import Batch, Mixed
from tailormix.batch import mix as mixed_over
from tailormix.kept import transformed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from tailormix.batch import Plan
    from tailormix.components import Mix


def mixed_together(
    batch: Batch, mix: Mix, mixes: int = 1, *, clean: bool = False
) -> tuple[list[Mixed], Tensor | None]:
    """``mixes`` mixed batches, and their inputs in one tensor, after the clean ones if those are wanted.

    There is no such tensor where mixing happens inside the model.
    """
    plans = [plan for plan in (mix.linear_plan(batch) for _ in range(mixes)) if plan is not None]
    if plans:
        together = _blended_together(batch.x, plans, clean)
        parts = together.chunk(clean + mixes)[clean:]
        return [Mixed(x, plan, batch) for x, plan in zip(parts, plans, strict=True)], together
    mixed = [mix(batch) for _ in range(mixes)]
    if any(each.place is not None for each in mixed):
        return mixed, None
    inputs = [batch.x] * clean + [each.x for each in mixed]
    return mixed, inputs[0] if len(inputs) == 1 else torch.cat(inputs)


def _blended_together(x: Tensor, plans: Sequence[Plan], clean: bool) -> Tensor:
    """In one pass, or at least in the memory where they are to lie, since copying takes as long as mixing."""
    first, *further = ((plan.partner, plan.lam) for plan in plans)
    found = blend(x, *first, further, clean)
    if found is not None:
        return found[0]
    gradients = x.requires_grad or any(plan.lam.requires_grad for plan in plans)
    if is_compiling() or gradients or transformed() or not x.is_contiguous():
        return torch.cat([x] * clean + [plan.blend(x) for plan in plans])
    memory = x.new_empty(((clean + len(plans)) * len(x), *x.shape[1:]))
    parts = memory.chunk(clean + len(plans))
    if clean:
        parts[0].copy_(x)
    for part, plan in zip(parts[clean:], plans, strict=True):
        mixed_over(x, torch.index_select(x, 0, plan.partner, out=part), plan.lam)
    return memory
