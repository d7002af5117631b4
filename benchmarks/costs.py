"""What a training step of every method costs: time, samples forwarded, and memory, in one race.

The data are random, in the paper's shapes: cost does not depend on content.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd.graph import saved_tensors_hooks

from benchmarks.harness import race
from benchmarks.paper_costs import paper_columns
from tailormix import models
from tailormix.methods import METHODS, build_method

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor, nn

    from tailormix.data.splits import Task

CLASSES = 10
REGRESSION_MODEL = "lstnet-skip"
METHODS_OF: dict[Task, tuple[str, ...]] = {
    "classification": tuple(name for name in METHODS if name != "c-mixup"),
    "regression": (
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
    ),
}


@dataclass(frozen=True, eq=False)
class Problem:
    """A model, a batch, and the training set that partners may come from."""

    task: Task
    model_name: str
    model: nn.Module
    x: Tensor
    y: Tensor
    pool: tuple[Tensor, Tensor]

    @property
    def size(self) -> str:
        """The shape of the batch, for titles."""
        return "×".join(str(side) for side in self.x.shape)


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
    # The batch is a copy: a view would count as the whole training set where memory is measured.
    return Problem("regression", REGRESSION_MODEL, model, x[:batch].clone(), y[:batch].clone(), (x, y))


def measure(
    problem: Problem, names: Sequence[str] | None = None, *, seconds: float = 1.0, clock: str = "wall"
) -> list[dict[str, Any]]:
    """One row per method that is defined for the problem, as ratios to ERM and Mixup, which are always in."""
    wanted = METHODS_OF[problem.task] if names is None else {*names, "erm", "mixup"}
    steps = {name: training_step(problem, name) for name in METHODS_OF[problem.task] if name in wanted}
    timings = race(steps, seconds=seconds, calls=1, clock=clock)
    costs = {name: count(problem.model, step, problem.x.device) for name, step in steps.items()}
    paper, batch = paper_columns(problem.task), len(problem.x)
    return [
        {
            "method": name,
            "seconds": timings[name].best,
            "median seconds": timings[name].median,
            "time to erm": timings[name].best / timings["erm"].best,
            "time to mixup": timings[name].best / timings["mixup"].best,
            "samples with gradient": costs[name].with_gradient / batch,
            "samples without gradient": costs[name].without_gradient / batch,
            "bytes": costs[name].memory,
            "memory to erm": costs[name].memory / costs["erm"].memory,
            "memory to mixup": costs[name].memory / costs["mixup"].memory,
            "paper": paper.get(name, {}),
        }
        for name in steps
    ]


def training_step(problem: Problem, name: str) -> Callable[[], None]:
    """Loss, gradients and update of a method with its default settings; the weights hardly change."""
    settings = {"bandwidth": 0.05} if name == "c-mixup" else {}
    method = build_method(name, **settings).fit(*problem.pool)
    optimiser = torch.optim.SGD(problem.model.parameters(), lr=1e-12)

    def step() -> None:
        torch.autograd.backward(method.loss(problem.model, problem.x, problem.y))
        optimiser.step()
        optimiser.zero_grad()
        if problem.x.is_cuda:
            torch.cuda.synchronize()  # else only the launches would be timed

    return step


@dataclass(frozen=True)
class Cost:
    """Samples forwarded with and without gradient, and bytes of memory, in one step."""

    with_gradient: int
    without_gradient: int
    memory: int


def count(model: nn.Module, step: Callable[[], None], device: torch.device) -> Cost:
    """Run one step and count.

    On a GPU the memory is the peak of what the step allocates. On a CPU it is what the step saves for its
    gradient: every storage that autograd saves counts once, and parameters do not count.
    """
    rows = {True: 0, False: 0}

    def count_rows(_: nn.Module, inputs: tuple[Any, ...]) -> None:
        rows[torch.is_grad_enabled()] += len(inputs[0])

    hook = model.register_forward_pre_hook(count_rows)
    try:
        memory = _allocated(step, device) if device.type == "cuda" else _saved(model, step)
    finally:
        hook.remove()
    return Cost(rows[True], rows[False], memory)


def _saved(model: nn.Module, step: Callable[[], None]) -> int:
    parameters = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    sizes: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in parameters:
            sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        step()
    return sum(sizes.values())


def _allocated(step: Callable[[], None], device: torch.device) -> int:
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    step()
    return torch.cuda.max_memory_allocated(device) - before


def _model(name: str, shape: tuple[int, ...], outputs: int, device: str) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return models.build(name, **models.shape_arguments(name, shape, outputs)).to(device)
