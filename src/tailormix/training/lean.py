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
    whole: Any = torch.no_grad()(inspect.unwrap(base.step))
    step: Any = _straight(whole) if issubclass(base, optim.Adam) else whole
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
            groups = [_Group.of(group, self.state) for group in self.param_groups]
            self._held = None if None in groups else groups
            return result
        recording = torch.is_grad_enabled()
        torch._C._set_grad_enabled(False)  # what torch.no_grad() comes to
        try:
            for group in held:
                group.step()
        finally:
            torch._C._set_grad_enabled(recording)
        return None

    return step


@dataclass(eq=False)
class _Group:
    """A group of parameters and their states, with the counts of steps side by side: one addition for all."""

    options: dict[str, Any]
    parameters: list[Tensor]
    states: list[dict[str, Tensor]]
    counts: Tensor
    steps: list[Tensor]

    @classmethod
    def of(cls, options: dict[str, Any], state: Any) -> _Group | None:
        """The group, unless the kernel does not take it, or some parameter has no state yet."""
        parameters = list(options["params"])
        if not options["fused"] or not all(map(_usual, parameters)):
            return None
        states = [state.get(parameter) for parameter in parameters]
        if not states or not all(held and held["step"].is_cpu for held in states):
            return None
        counts = torch.stack([held["step"] for held in states])
        for held, count in zip(states, counts, strict=True):
            held["step"] = count
        return cls(options, parameters, states, counts, [held["step"] for held in states])

    def current(self, state: Any) -> bool:
        """Whether nothing was exchanged since, every parameter has a gradient, and the kernel takes them."""
        options, parameters = self.options, self.options["params"]
        if len(parameters) != len(self.parameters) or not options["fused"] or any(map(options.get, UNUSUAL)):
            return False
        for mine, theirs, held, step in zip(
            self.parameters, parameters, self.states, self.steps, strict=True
        ):
            if mine is not theirs or state.get(mine) is not held or held.get("step") is not step:
                return False
            if mine.grad is None or not _usual(mine):
                return False
        return True

    def step(self) -> None:
        """What the fused kernel does with a group; its moments are looked up anew."""
        options = self.options
        kernel: Any = torch._fused_adamw_ if options.get("decoupled_weight_decay") else torch._fused_adam_
        self.counts.add_(one())
        kernel(
            self.parameters,
            [parameter.grad for parameter in self.parameters],
            [state["exp_avg"] for state in self.states],
            [state["exp_avg_sq"] for state in self.states],
            [],
            self.steps,
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
    return parameter.is_cpu and parameter.dtype == torch.float32


def _reduced(optimiser: optim.Optimizer) -> tuple[Any, ...]:
    """What pickle keeps: the class of torch, from which the lean one is made again, and the state."""
    return _blank, (type(optimiser).__mro__[1],), optimiser.__getstate__()


def _blank(base: type[optim.Optimizer]) -> optim.Optimizer:
    kind = lean(base)  # type: ignore[arg-type]
    return kind.__new__(kind)
