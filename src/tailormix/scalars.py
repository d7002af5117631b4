"""Numbers beside small tensors: what a batch of coefficients costs is operations, not arithmetic."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import torch

from tailormix import checks

if TYPE_CHECKING:
    from torch import Tensor

KEPT = (torch.float32, torch.float64)


def scalar(value: float, like: Tensor) -> Tensor | float:
    """``value`` in the form that is cheapest beside ``like``.

    On the CPU, torch makes a tensor of a Python number and casts it, in every operation anew, which takes
    longer than the operation itself on a hundred numbers. There a tensor kept from before stands for it.

    >>> torch.rand(3).mul_(scalar(0.0, torch.rand(3)))
    tensor([0., 0., 0.])
    """
    # Half precision stays as it is: torch computes in float32 there, and a kept number would be rounded.
    if like.dtype in KEPT and checks.readable(like):
        return _kept(value, like.dtype)
    return value


@functools.lru_cache(maxsize=256)
@torch.inference_mode(False)  # what is kept must also serve calls outside inference mode
def _kept(value: float, dtype: torch.dtype) -> Tensor:
    return torch.tensor(value, dtype=dtype, device="cpu")
