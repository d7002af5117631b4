"""Optimisers of torch without what they carry for its compiler and its profiler."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import torch
from torch import optim

#: methods that torch shields from its compiler; the shield imports the compiler, which takes a second
SHIELDED = ("add_param_group", "state_dict", "load_state_dict", "zero_grad")


@functools.cache
def lean(base: type[optim.Optimizer]) -> type[optim.Optimizer]:
    """``base`` itself, with its methods as they are below their decorators: nothing of it is computed anew.

    The decorators matter to a compiled ``step`` and to hooks on it, of which the loop has none. A method that
    some version of torch does not decorate is taken as it is.

    >>> weight = torch.nn.Parameter(torch.ones(1))
    >>> optimiser = lean(optim.SGD)([weight], lr=0.5)
    >>> weight.grad = torch.ones(1)
    >>> optimiser.step()
    >>> weight.item(), isinstance(optimiser, optim.SGD)
    (0.5, True)
    """
    step: Any = torch.no_grad()(inspect.unwrap(base.step))
    step.hooked = True  # or torch would wrap it for the profiler
    bare = {name: inspect.unwrap(getattr(base, name)) for name in SHIELDED}
    body = {**bare, "step": step, "__reduce__": _reduced, "__doc__": base.__doc__}
    return type(base.__name__, (base,), body)


def _reduced(optimiser: optim.Optimizer) -> tuple[Any, ...]:
    """What pickle keeps: the class of torch, from which the lean one is made again, and the state."""
    return _blank, (type(optimiser).__mro__[1],), optimiser.__getstate__()


def _blank(base: type[optim.Optimizer]) -> optim.Optimizer:
    kind = lean(base)  # type: ignore[arg-type]
    return kind.__new__(kind)
