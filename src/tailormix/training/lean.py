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

#: options of Adam with which a step is left to torch
UNUSUAL = ("amsgrad", "maximize", "differentiable", "capturable")
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
        held: list[_Group] | None = self.__dict__.get("_held")
        if closure is not None or held is None or not _current(held, self):
            result = whole(self, closure)
            self._held = [_Group.of(group, self.state) for group in self.param_groups]
            return result
        for group in held:
            group.step()
        return None

    return step


@dataclass
class _Group:
    """A group of parameters, and their states as they were found."""

    options: dict[str, Any]
    parameters: list[Tensor]
    states: list[dict[str, Tensor] | None]

    @classmethod
    def of(cls, options: dict[str, Any], state: Any) -> _Group:
        parameters = list(options["params"])
        return cls(options, parameters, [state.get(parameter) for parameter in parameters])

    def current(self, state: Any) -> bool:
        """Whether nothing was exchanged since, every parameter has a gradient, and the kernel takes them."""
        options, parameters = self.options, self.options["params"]
        if len(parameters) != len(self.parameters) or not options["fused"] or any(map(options.get, UNUSUAL)):
            return False
        for mine, theirs, held in zip(self.parameters, parameters, self.states, strict=True):
            if mine is not theirs or not held or state.get(mine) is not held or not _usual(mine):
                return False
        return True

    def step(self) -> None:
        """What the fused kernel does with a group; its state is looked up anew."""
        options, states = self.options, [state for state in self.states if state]
        kernel: Any = torch._fused_adamw_ if options.get("decoupled_weight_decay") else torch._fused_adam_
        steps = [state["step"] for state in states]
        torch._foreach_add_(steps, one())
        kernel(
            self.parameters,
            [parameter.grad for parameter in self.parameters],
            [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states],
            [],
            steps,
            amsgrad=False,
            lr=options["lr"],
            beta1=options["betas"][0],
            beta2=options["betas"][1],
            weight_decay=options["weight_decay"],
            eps=options["eps"],
            maximize=False,
        )


def _current(held: list[_Group], optimiser: Any) -> bool:
    groups = optimiser.param_groups
    if len(held) != len(groups) or hasattr(optimiser, "grad_scale") or hasattr(optimiser, "found_inf"):
        return False
    pairs = zip(held, groups, strict=True)
    return all(mine.options is theirs and mine.current(optimiser.state) for mine, theirs in pairs)


def _usual(parameter: Tensor) -> bool:
    return parameter.grad is not None and parameter.is_cpu and parameter.dtype == torch.float32


def _reduced(optimiser: optim.Optimizer) -> tuple[Any, ...]:
    """What pickle keeps: the class of torch, from which the lean one is made again, and the state."""
    return _blank, (type(optimiser).__mro__[1],), optimiser.__getstate__()


def _blank(base: type[optim.Optimizer]) -> optim.Optimizer:
    kind = lean(base)  # type: ignore[arg-type]
    return kind.__new__(kind)
