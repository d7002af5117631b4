"""What the methods are measured on: made data in the paper's shapes; cost does not depend on content."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from tailormix import models
from tailormix.methods import METHODS, build_method

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor, nn

    from tailormix.data.splits import Task
    from tailormix.method import Method


CLASSES = 10
REGRESSION_MODEL = "lstnet-skip"
#: methods that are defined for real targets; all but C-Mixup are for classes too
REGRESSION = (
    "erm",
    "mixup",
    "manifold-mixup",
    "regmixup",
    "c-mixup",
    "k-mixup",
    "local-mixup",
    "sk-mixup",
    "sk-regmixup",
    "sk-manifold-mixup",
)
CLASSIFICATION = tuple(name for name in METHODS if name != "c-mixup")
#: settings that a method's cost depends on
SETTINGS: dict[str, dict[str, Any]] = {"c-mixup": {"bandwidth": 0.05}}


@dataclass(frozen=True, eq=False)
class Problem:
    """A model, a batch of it, and the training set that partners may come from."""

    task: Task
    model_name: str
    model: nn.Module
    x: Tensor
    y: Tensor
    pool: tuple[Tensor, Tensor]

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that are defined for it."""
        return CLASSIFICATION if self.task == "classification" else REGRESSION

    @property
    def size(self) -> str:
        """The batch's shape, for titles."""
        return " × ".join(str(side) for side in self.x.shape)


def images(model: str, batch: int, *, side: int = 32, device: str = "cpu") -> Problem:
    """A batch in the shape of CIFAR-10: (batch, 3, 32, 32), ten classes."""
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(batch, 3, side, side, generator=draw).to(device)
    y = (torch.arange(batch) % CLASSES).to(device)
    return Problem("classification", model, _model(model, (3, side, side), CLASSES, device), x, y, (x, y))


def series(
    batch: int, *, rows: int = 4373, window: int = 168, width: int = 8, device: str = "cpu"
) -> Problem:
    """A batch in the shape of Exchange-Rate: windows (batch, 168, 8), targets (batch, 8)."""
    draw = torch.Generator().manual_seed(0)
    x = torch.rand(rows, window, width, generator=draw).to(device)
    y = torch.rand(rows, width, generator=draw).to(device)
    model = _model(REGRESSION_MODEL, (window, width), width, device)
    # a batch of its own: a view would count as the whole training set where memory is measured
    return Problem("regression", REGRESSION_MODEL, model, x[:batch].clone(), y[:batch].clone(), (x, y))


def _model(name: str, shape: tuple[int, ...], outputs: int, device: str) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return models.build(name, **models.shape_arguments(name, shape, outputs)).to(device)


def fitted(problem: Problem, name: str) -> Method:
    """A method that knows the training set, with the settings it has by default."""
    return build_method(name, **SETTINGS.get(name, {})).fit(*problem.pool)


def step(problem: Problem, method: Method) -> Callable[[], None]:
    """A whole training step: loss, gradients and update; the update is too small to change anything."""
    model, x, y = problem.model, problem.x, problem.y
    optimiser = torch.optim.SGD(model.parameters(), lr=1e-12)

    def once() -> None:
        torch.autograd.backward(method.loss(model, x, y))
        optimiser.step()
        optimiser.zero_grad()
        if x.is_cuda:
            torch.cuda.synchronize()  # else only the launches would be timed

    return once


def chosen(problem: Problem, names: Sequence[str] | None) -> tuple[str, ...]:
    """The wanted methods that are defined here, ERM and Mixup always among them, in the list's order."""
    wanted = problem.methods if names is None else {*names, "erm", "mixup"}
    return tuple(name for name in problem.methods if name in wanted)
