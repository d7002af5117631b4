"""The optimisers by their command-line names. Imports without torch."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from tailormix import checks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from torch import nn, optim


@dataclass(frozen=True)
class OptimiserRecord:
    """Class of ``torch.optim`` behind a name, and the options that may be set."""

    attribute: str
    summary: str
    defaults: Mapping[str, Any]


OPTIMISERS: dict[str, OptimiserRecord] = {
    "sgd": OptimiserRecord(
        "SGD",
        "stochastic gradient descent with momentum",
        {"lr": 0.1, "momentum": 0.9, "nesterov": False, "weight_decay": 0.0},
    ),
    "adam": OptimiserRecord(
        "Adam",
        "Adam; weight decay is added to the gradient",
        {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0},
    ),
    "adamw": OptimiserRecord(
        "AdamW",
        "Adam with decoupled weight decay",
        {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 1e-2},
    ),
}


def build_optimiser(
    name: str, parameters: Iterable[nn.Parameter], options: Mapping[str, Any], *, fused: bool = True
) -> optim.Optimizer:
    """The optimiser of that name over ``parameters``, as one fused kernel where torch has it.

    Fused optimisers undo the loss scaling of float16 by themselves, which leaves no moment to clip gradients.

    >>> import torch
    >>> build_optimiser("sgd", [torch.nn.Parameter(torch.zeros(1))], {"lr": 0.5}).param_groups[0]["momentum"]
    0.9
    """
    from .lean import lean

    record = OPTIMISERS[checks.known("optimiser", name, OPTIMISERS)]
    for key in options:
        checks.known(f"option of optimiser {name}", key, record.defaults)
    arguments = {**record.defaults, **options}
    checks.positive("lr", arguments["lr"])
    checks.non_negative("weight_decay", arguments["weight_decay"])
    parameters = list(parameters)
    make: Any = lean(getattr(importlib.import_module("torch.optim"), record.attribute))
    return cast("optim.Optimizer", make(parameters, fused=fused and _fusible(parameters), **arguments))


def _fusible(parameters: Iterable[nn.Parameter]) -> bool:
    """One kernel for all parameters instead of a Python loop, where torch has it."""
    return all(p.device.type in ("cpu", "cuda") and p.is_floating_point() for p in parameters)
