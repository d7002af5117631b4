"""What the loop needs of Lightning Fabric, for one process on a CPU in full precision."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from tailormix.kept import one

if TYPE_CHECKING:
    from torch import Tensor, nn, optim


ENGINE: Any = torch.autograd.Variable._execution_engine


@dataclass(frozen=True)
class OneCPU:
    """Stands in for ``Fabric(accelerator="cpu", devices=1)``: importing that takes longer than a small run.

    The same names do the same things; every other machine gets Fabric. The loop tells them apart in one
    place: here it may mix an epoch's batches at once (:mod:`tailormix.training.ahead`).
    """

    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    world_size: int = 1
    global_rank: int = 0
    is_global_zero: bool = True

    def setup(self, module: nn.Module, *optimisers: optim.Optimizer) -> Any:
        """Nothing is to be wrapped; a module alone comes back alone."""
        return (module, *optimisers) if optimisers else module

    def backward(self, loss: Tensor) -> None:
        """Gradients of the loss."""
        if loss.dim() == 0 and loss.dtype == torch.float32 and loss.requires_grad:
            # What loss.backward() comes to, below its reading of arguments.
            ENGINE.run_backward((loss,), (one().clone(),), False, False, (), True, accumulate_grad=True)
        else:
            loss.backward()  # type: ignore[no-untyped-call]

    def clip_gradients(self, module: nn.Module, _: optim.Optimizer, max_norm: float) -> Tensor:
        """Scale the gradient down to ``max_norm``; one that is not finite is an error."""
        return torch.nn.utils.clip_grad_norm_(module.parameters(), max_norm, error_if_nonfinite=True)

    def autocast(self) -> contextlib.AbstractContextManager[None]:
        """Full precision: nothing is cast."""
        return contextlib.nullcontext()

    def barrier(self) -> None:
        """There is nobody to wait for."""
