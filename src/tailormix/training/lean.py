"""Optimisers of torch without what they carry for its compiler and its profiler."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import optim

from tailormix.kept import one

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

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
    whole = inspect.unwrap(base.step)
    step: Any = torch.no_grad()(_straight(whole) if issubclass(base, optim.Adam) else whole)
    step.hooked = True  # or torch would wrap it for the profiler
    bare = {name: inspect.unwrap(getattr(base, name)) for name in SHIELDED}
    body = {**bare, "step": step, "__reduce__": _reduced, "__doc__": base.__doc__}
    return type(base.__name__, (base,), body)


def _straight(whole: Callable[..., Any]) -> Callable[..., Any]:
    """A step of Adam that goes straight to torch's fused kernel, with lists that ``whole`` would make anew.

    Only on a CPU, where making them takes longer than the kernel, and once ``whole`` has made the state.
    """

    def step(self: Any, closure: Any = None) -> Any:
        held = self.__dict__.get("_held")
        if closure is not None or held is None or not held.fits(self):
            result = whole(self, closure)
            self._held = _Held.of(self)
            return result
        for group, lists in zip(self.param_groups, held.lists, strict=True):
            lists.step(group)
        return None

    return step


@dataclass
class _Lists:
    """What the fused kernel of Adam works on."""

    parameters: list[Tensor]
    averages: list[Tensor]
    squares: list[Tensor]
    steps: list[Tensor]

    def step(self, group: dict[str, Any]) -> None:
        gradients = [parameter.grad for parameter in self.parameters]
        kernel: Any = torch._fused_adamw_ if group.get("decoupled_weight_decay") else torch._fused_adam_
        torch._foreach_add_(self.steps, one())
        kernel(
            self.parameters,
            gradients,
            self.averages,
            self.squares,
            [],
            self.steps,
            amsgrad=False,
            lr=group["lr"],
            beta1=group["betas"][0],
            beta2=group["betas"][1],
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            maximize=False,
        )


@dataclass
class _Held:
    """The lists of all groups, as long as they belong to this state."""

    state: Any
    lists: list[_Lists]

    @classmethod
    def of(cls, optimiser: Any) -> _Held | None:
        if hasattr(optimiser, "grad_scale") or not all(map(_plain, optimiser.param_groups)):
            return None
        found = []
        for group in optimiser.param_groups:
            states = [optimiser.state.get(parameter) for parameter in group["params"]]
            if not all(states):
                return None
            columns = ([state[name] for state in states] for name in ("exp_avg", "exp_avg_sq", "step"))
            found.append(_Lists(list(group["params"]), *columns))
        return cls(optimiser.state, found)

    def fits(self, optimiser: Any) -> bool:
        """Whether they are still those of the optimiser, and every parameter has a gradient."""
        if self.state is not optimiser.state or len(self.lists) != len(optimiser.param_groups):
            return False
        return all(parameter.grad is not None for lists in self.lists for parameter in lists.parameters)


def _plain(group: dict[str, Any]) -> bool:
    unusual = ("amsgrad", "maximize", "differentiable", "capturable")
    kinds = {(parameter.device.type, parameter.dtype) for parameter in group["params"]}
    return group["fused"] and kinds == {("cpu", torch.float32)} and not any(map(group.get, unusual))


def _reduced(optimiser: optim.Optimizer) -> tuple[Any, ...]:
    """What pickle keeps: the class of torch, from which the lean one is made again, and the state."""
    return _blank, (type(optimiser).__mro__[1],), optimiser.__getstate__()


def _blank(base: type[optim.Optimizer]) -> optim.Optimizer:
    kind = lean(base)  # type: ignore[arg-type]
    return kind.__new__(kind)
