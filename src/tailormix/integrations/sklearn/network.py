"""The network inside an estimator: trained and calibrated."""

from __future__ import annotations

import contextlib
import copy
import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from sklearn.preprocessing import StandardScaler
from torch import nn

from tailormix.calibration.dropout import mc_dropout, predict
from tailormix.calibration.temperature import Slope, minimise, slope
from tailormix.calibration.variance import fit_variance
from tailormix.method import Method, Step
from tailormix.models.mlp import MLP
from tailormix.training.optimisation import Position, build_optimiser, schedule
from tailormix.training.progress import console, silent
from tailormix.training.seeding import reseed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    import numpy.typing as npt
    from torch import Tensor, optim

    from tailormix.components import Criterion
    from tailormix.integrations.sklearn.base import Settings
    from tailormix.training.progress import Reporter

    Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Recipe:
    """How long and how fast: AdamW with half a cosine wave of the learning rate.

    ``patience`` is the number of epochs without a better validation loss that ends training; ``None`` never
    looks at it.
    """

    learning_rate: float
    weight_decay: float
    batch_size: int
    epochs: int
    patience: int | None


@dataclass(frozen=True)
class History:
    """Mean training loss of each epoch, and validation loss of each where it was looked at."""

    losses: tuple[float, ...]
    validation: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class Rows:
    """Inputs (n, d) and targets, class indices (n,) or real (n, outputs)."""

    x: Tensor
    y: Tensor

    def __len__(self) -> int:
        return len(self.x)


def make_optimiser(step: Step, recipe: Recipe) -> optim.Optimizer:
    """AdamW over the module of a step."""
    options = {"lr": recipe.learning_rate, "weight_decay": recipe.weight_decay}
    return build_optimiser("adamw", step.model.parameters(), options)


def train(step: Step, rows: Rows, recipe: Recipe, judge: Callable[[], float], report: Reporter) -> History:
    """Train ``step.model`` in place; with patience its best weights are put back at the end.

    ``judge`` gives the validation loss; it is called once an epoch, and only with patience.
    """
    optimiser, factor = make_optimiser(step, recipe), schedule("cosine", {})
    losses: list[float] = []
    validation: list[float] = []
    best = copy.deepcopy(step.model.state_dict())
    for epoch in range(recipe.epochs):
        start = time.monotonic()
        place = Position(epoch, 0, recipe.epochs, 1)
        losses.append(one_pass(step, optimiser, rows, recipe, factor(place)))
        row: dict[str, Any] = {"epoch": epoch + 1, "loss": losses[-1], "seconds": time.monotonic() - start}
        if recipe.patience is not None:
            validation.append(judge())
            row["validation"] = {"validation loss": validation[-1]}
            if validation[-1] <= min(validation):
                best = copy.deepcopy(step.model.state_dict())
        report(row, recipe.epochs)
        if recipe.patience is not None and epoch - _lowest(validation) >= recipe.patience:
            break
    if recipe.patience is not None:
        step.model.load_state_dict(best)
    return History(tuple(losses), tuple(validation))


def one_pass(
    step: Step, optimiser: optim.Optimizer, rows: Rows, recipe: Recipe, factor: float = 1.0
) -> float:
    """One epoch over rows in random order, in batches whose sizes differ by at most one; the mean loss."""
    for group in optimiser.param_groups:
        group["lr"] = recipe.learning_rate * factor
    step.train()
    total = 0.0
    for batch in torch.randperm(len(rows)).tensor_split(math.ceil(len(rows) / recipe.batch_size)):
        loss = step(rows.x[batch], rows.y[batch])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        total += float(loss.detach()) * len(batch)
    if not math.isfinite(total):
        raise ValueError(
            f"training diverged, the loss is {total}: lower learning_rate={recipe.learning_rate}"
        )
    return total / len(rows)


def _lowest(values: list[float]) -> int:
    """Where the last of the smallest values is."""
    return len(values) - 1 - values[::-1].index(min(values))


PRIOR = 0.7  # standard deviation of log T before any row is seen
REACH, PASSES = 5.0, 60
SMALLEST = 1e-6  # of a standardised target: units that never fire give a spread of 0


def careful_temperature(logits: Tensor, targets: Tensor) -> float:
    """T that minimises n · NLL(z / T) + (log T)² / (2 · 0.7²): the mode under a log-normal prior around 1.

    A few dozen rows often are all classified right. Their NLL alone falls for ever as T → 0; the prior, worth
    a handful of rows, keeps T near 1 there and does not matter where rows are many.

    >>> import torch
    >>> z = torch.tensor([[2.0, 0.0]]).repeat(400, 1)
    >>> y = torch.tensor([0, 0, 0, 1]).repeat(100)
    >>> round(careful_temperature(z, y), 2)  # 2 / log 3 = 1.82 without the prior
    1.8
    >>> round(careful_temperature(z[:3], y[:3]), 2)
    0.77
    """
    rows = len(targets)

    def objective(t: float) -> Slope:
        seen, weight = slope([(logits, targets)], t), 1 / (rows * PRIOR**2)
        return Slope(seen.nll + weight * t * t / 2, seen.first + weight * t, seen.second + weight)

    return math.exp(minimise(objective, 0.0, -REACH, REACH, PASSES).at)


def has_dropout(module: nn.Module) -> bool:
    """Whether passes with dropout can differ.

    >>> import torch
    >>> has_dropout(torch.nn.Dropout(0.5)), has_dropout(torch.nn.Dropout(0.0))
    (True, False)
    """
    try:
        with mc_dropout(module):
            return True
    except ValueError:
        return False


def spread(module: nn.Module, x: Tensor, seed: int, samples: int) -> Tensor:
    """Standard deviation (n, outputs) of Monte Carlo dropout, never 0."""
    return predict(module, x, samples=samples, seed=seed).std.clamp(min=SMALLEST)


def variance_scale(mean: Tensor, std: Tensor, targets: Tensor) -> float:
    """mean((y − μ)² / σ²) as :class:`tailormix.calibration.VarianceScaling`, but 1 where nothing is missed.

    >>> import torch
    >>> variance_scale(torch.zeros(2, 1), torch.ones(2, 1), torch.tensor([[2.0], [-2.0]]))
    4.0
    """
    if bool((mean == targets).all()):
        return 1.0
    return fit_variance(mean, std, targets).scale


CHUNK = 4096  # rows of a pass without gradient


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be learned: the method, the loss (n,) of outputs, and how many outputs there are.

    ``classes`` is their number, ``None`` for real targets; ``needs_dropout`` refuses modules without.
    """

    method: Method
    criterion: Criterion
    outputs: int
    classes: int | None
    needs_dropout: bool = False


@dataclass(frozen=True, eq=False)
class Network:
    """A module and the scales it was trained with; ``target_scaler`` is ``None`` for classes.

    ``precise`` modules answer in double precision, so that the answer for a row does not depend on the rows
    beside it. Modules of the user answer as they were trained: they may hold tensors that cannot be cast.
    """

    module: nn.Module
    scaler: StandardScaler
    target_scaler: StandardScaler | None
    precise: bool

    def inputs(self, X: Array) -> Tensor:
        """Standardised inputs (n, d), in double precision."""
        return torch.from_numpy(self.scaler.transform(X))

    def targets(self, y: Array) -> Tensor:
        """Class indices (n,) as they are, real targets (n, outputs) standardised."""
        if self.target_scaler is None:
            return torch.as_tensor(y, dtype=torch.int64)
        return torch.from_numpy(self.target_scaler.transform(y)).float()

    def rows(self, X: Array, y: Array) -> Rows:
        """What the module is trained on."""
        return Rows(self.inputs(X).float(), self.targets(y))

    def outputs(self, X: Array) -> Tensor:
        """Outputs (n, outputs) on the scale of the module."""
        return outputs(*self.asked(X)).double()

    def asked(self, X: Array) -> tuple[nn.Module, Tensor]:
        """Module and inputs in the precision of answers."""
        if self.precise:
            return copy.deepcopy(self.module).double(), self.inputs(X)
        return self.module, self.inputs(X).float()

    def seen(self, X: Array, y: Array) -> Network:
        """The same module, with scales that have seen further rows."""
        scaler, target_scaler = copy.deepcopy((self.scaler, self.target_scaler))
        scaler.partial_fit(X)
        if target_scaler is not None:
            target_scaler.partial_fit(y)
        return Network(self.module, scaler, target_scaler, self.precise)


def blank(task: Task, X: Array, y: Array, settings: Settings) -> Network:
    """An untrained network: scales from these rows, weights from torch's generator."""
    scaler, target_scaler = (_scaler().fit(values) for values in (X, y.reshape(len(y), -1)))
    module = build_module(settings, X.shape[1], task.outputs)
    return Network(module, scaler, None if task.classes else target_scaler, settings.module is None)


def _scaler() -> StandardScaler:
    """To mean 0 and standard deviation 1, as arrays even where the user's default is pandas."""
    return StandardScaler().set_output(transform="default")


def build_module(settings: Settings, features: int, outputs: int) -> nn.Module:
    """The user's module, or an MLP."""
    if settings.module is None:
        return MLP(features, outputs, settings.hidden, settings.dropout)
    module = settings.module(features, outputs)
    if not isinstance(module, nn.Module):
        raise TypeError(f"module must return an nn.Module, got {type(module).__name__}")
    return module


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Torch's own generator starts from ``seed`` inside, and is afterwards what it was before.

    >>> before = torch.get_rng_state()
    >>> with seeded(0):
    ...     first = torch.rand(1)
    >>> bool((before == torch.get_rng_state()).all())
    True
    """
    with torch.random.fork_rng(devices=[]):
        reseed(seed, torch.device("cpu"))
        yield


def learn(
    task: Task, X: Array, y: Array, held: npt.NDArray[np.bool_], settings: Settings, start: Network | None
) -> tuple[Network, History]:
    """A network trained on the rows that are not held out, from ``start`` or from nothing."""
    network = copy.deepcopy(start) if start is not None else blank(task, X[~held], y[~held], settings)
    if task.needs_dropout and not has_dropout(network.module):
        raise ValueError(
            "calibrate=True needs dropout in the module, got none: set dropout > 0, or calibrate=False"
        )
    rows = network.rows(X[~held], y[~held])
    judged = network.rows(X[held], y[held]) if held.any() else rows
    step = ready(network, task, rows, settings)

    def judge() -> float:
        return float(task.criterion(outputs(network.module, judged.x), judged.y).mean())

    name = "training" if held.any() or not settings.holds_out else "refitting"
    with _progress(name, settings) as report:
        history = train(step, rows, settings.recipe, judge, report)
    return network, history


def ready(network: Network, task: Task, rows: Rows, settings: Settings) -> Step:
    """The training step, once a rehearsal on a copy has shown that method, module and targets fit."""
    first = slice(settings.recipe.batch_size)
    try:
        step = Step(network.module, task.method.fit(rows.x, rows.y), task.criterion)
        copy.deepcopy(step)(rows.x[first], rows.y[first]).backward()
    except (ValueError, TypeError, RuntimeError) as error:
        raise ValueError(f"method and module cannot be trained on these targets: {error}") from error
    return step


@torch.no_grad()
def outputs(module: nn.Module, x: Tensor) -> Tensor:
    """Outputs (n, outputs) in evaluation mode, a bounded number of rows at a time."""
    module.eval()
    return torch.cat([module(part) for part in torch.split(x, CHUNK)])


def _progress(name: str, settings: Settings) -> contextlib.AbstractContextManager[Reporter]:
    return console(name, settings.recipe.epochs) if settings.verbose else contextlib.nullcontext(silent)
