"""Several batches as one: what objectives share that run the model on more than the mixed batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.compiler import is_compiling

if TYPE_CHECKING:
    from torch import Tensor

    from tailormix.batch import Batch, Mixed
    from tailormix.words import Mix


def mixed_together(
    batch: Batch, mix: Mix, mixes: int = 1, *, clean: bool = False
) -> tuple[list[Mixed], Tensor | None]:
    """``mixes`` mixed batches, and their inputs in one tensor, after the clean ones if those are wanted.

    There is no such tensor where mixing happens inside the model. The batches are mixed in its memory where
    torch allows it, since copying them would take as long as mixing.
    """
    n, first = len(batch), int(clean)
    if mixes + first == 1:
        mixed = [mix(batch)]
        return mixed, mixed[0].x if mixed[0].place is None else None
    memory = _memory(batch, mixes + first)
    if memory is None:
        mixed = [mix(batch) for _ in range(mixes)]
    else:
        mixed = [mix(batch.with_room(memory.narrow(0, k * n, n))) for k in range(first, first + mixes)]
    if any(each.place is not None for each in mixed):
        return mixed, None
    if memory is None or any(each.x is not each.batch.room for each in mixed):
        return mixed, torch.cat([batch.x] * first + [each.x for each in mixed])
    if clean:
        memory.narrow(0, 0, n).copy_(batch.x)
    return mixed, memory


def _memory(batch: Batch, batches: int) -> Tensor | None:
    """Room for so many batches; none where torch cannot write into it, or partners bring their own."""
    x = batch.x
    if is_compiling() or x.requires_grad or not x.is_contiguous() or batch.pool is not None:
        return None
    return x.new_empty((batches * len(batch), *x.shape[1:]))
