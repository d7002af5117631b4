"""BatchNorm over parts of a batch, as if each part had a pass of its own."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import torch
from torch.nn.modules.batchnorm import _BatchNorm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import Tensor, nn


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
