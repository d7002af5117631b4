"""Between the state dictionaries of torch and the flat tensors and JSON of a checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor, nn, optim


def prefixed(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors under ``prefix.name``."""
    return {f"{prefix}.{name}": tensor for name, tensor in tensors.items()}


def under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors that :func:`prefixed` put there, under their own names.

    >>> sorted(under("a", {"a.x": torch.zeros(1), "b.x": torch.zeros(1)}))
    ['x']
    """
    start = f"{prefix}."
    return {name[len(start) :]: value for name, value in tensors.items() if name.startswith(start)}


def module_tensors(module: object) -> dict[str, Tensor]:
    """Weights and buffers of a module, each copied; nothing for a criterion that is a plain function."""
    if not isinstance(module, torch.nn.Module):
        return {}
    return {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}


def load_module(module: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Copy tensors into a module: every one of its names, and no other."""
    if tensors or module.state_dict():
        module.load_state_dict(dict(tensors), strict=True)


def optimiser_tensors(optimiser: optim.Optimizer) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """State of an optimiser: tensors by ``parameter.key``, and the rest for JSON."""
    state = optimiser.state_dict()["state"]
    tensors: dict[str, Tensor] = {}
    rest: dict[str, Any] = {}
    for parameter, values in state.items():
        for key, value in values.items():
            if isinstance(value, torch.Tensor):
                # counts of steps may share their memory, which a checkpoint does not take
                tensors[f"{parameter}.{key}"] = value.clone() if value.dim() == 0 else value
            else:
                rest[f"{parameter}.{key}"] = value
    return tensors, rest


def load_optimiser(
    optimiser: optim.Optimizer, tensors: Mapping[str, Tensor], rest: Mapping[str, Any]
) -> None:
    """Put back what :func:`optimiser_tensors` took; learning rates and the like stay as configured."""
    state: dict[int, dict[str, Any]] = {}
    for name, value in {**tensors, **rest}.items():
        parameter, _, key = name.partition(".")
        state.setdefault(int(parameter), {})[key] = value
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
