"""Passes and memory of one step, counted while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd.graph import saved_tensors_hooks

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor, nn


@dataclass(frozen=True)
class Cost:
    """Samples forwarded with gradient, and without, and bytes of memory."""

    graded: int
    free: int
    memory: int


def cost(model: nn.Module, step: Callable[[], None], device: torch.device) -> Cost:
    """Count one step: rows of every pass through the model, and its memory.

    On a GPU the memory is the peak of what the step allocates. On a CPU it is what the step keeps for its
    gradient: every storage that autograd saves counts once, and parameters do not count.
    """
    rows = {True: 0, False: 0}

    def count(_: nn.Module, inputs: tuple[Any, ...]) -> None:
        rows[torch.is_grad_enabled()] += len(inputs[0])

    hook = model.register_forward_pre_hook(count)
    try:
        memory = _allocated(step, device) if device.type == "cuda" else _saved(model, step)
    finally:
        hook.remove()
    return Cost(rows[True], rows[False], memory)


def _saved(model: nn.Module, step: Callable[[], None]) -> int:
    """Bytes of the storages saved for the gradient, each once, without the parameters."""
    known = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    sizes: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in known:
            sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        step()
    return sum(sizes.values())


def _allocated(step: Callable[[], None], device: torch.device) -> int:
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    step()
    return torch.cuda.max_memory_allocated(device) - before
