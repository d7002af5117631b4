"""The network inside an estimator: how it is built and trained, and its outputs."""

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

from tailormix.data.preprocessing import TablePreprocessing
from tailormix.method import Method, Step
from tailormix.models.mlp import MLP
from tailormix.training.evaluating import ROWS, forward_batches, has_dropout
from tailormix.training.optimisation import Schedule, TrainingBatch, build_optimiser, train_epoch
from tailormix.training.progress import console, silent
from tailormix.training.seeding import Stream, derive, reseed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    import numpy.typing as npt
    from torch import Tensor, optim

    from tailormix.components import Criterion
    from tailormix.data.files.tables import Table
    from tailormix.integrations.sklearn.base import Options
    from tailormix.training.progress import Reporter

    Array = npt.NDArray[Any]
    #: inputs as given: numbers (n, d) with NaN for missing, or a table
    Inputs = Array | Table
    #: inputs (n, features) of the module and targets, class indices (n,) or real (n, outputs)
    Rows = tuple[Tensor, Tensor]


@dataclass(frozen=True, eq=False)
class Problem:
    """What is to be learned: the method, the loss (n,) of outputs, and how many outputs there are.

    ``classes`` is their number, ``None`` for real targets; ``needs_dropout`` refuses modules without it.
    """

    method: Method
    criterion: Criterion
    outputs: int
    classes: int | None
    needs_dropout: bool = False


@dataclass(frozen=True, eq=False)
class Network:
    """A module, and the preprocessing it was trained with; ``target_scaler`` is ``None`` for classes.

    ``precise`` modules predict in double precision, so that the prediction for a row does not depend on the
    rows beside it. Modules of the user predict as they were trained: they may hold tensors that cannot be
    cast.
    """

    module: nn.Module
    preprocessing: TablePreprocessing
    target_scaler: StandardScaler | None
    precise: bool

    @classmethod
    def new(cls, problem: Problem, X: Inputs, y: Array, options: Options) -> Network:
        """An untrained network: preprocessing from these rows, weights from torch's generator."""
        preprocessing = TablePreprocessing.fit(X)
        features = len(preprocessing.output_names())
        if options.module is None:
            module: nn.Module = MLP(features, problem.outputs, options.hidden, options.dropout)
        else:
            module = options.module(features, problem.outputs)
            if not isinstance(module, nn.Module):
                raise TypeError(f"module must return an nn.Module, got {type(module).__name__}")
        # as arrays even where the user's default is pandas
        scaler = None if problem.classes else StandardScaler().set_output(transform="default").fit(y)
        return cls(module, preprocessing, scaler, options.module is None)

    def rescaled(self, X: Inputs, y: Array) -> Network:
        """The same module, with scales that have seen further rows."""
        target_scaler = copy.deepcopy(self.target_scaler)
        if target_scaler is not None:
            target_scaler.partial_fit(y)
        return Network(self.module, self.preprocessing.updated(X), target_scaler, self.precise)

    def rows(self, X: Inputs, y: Array) -> Rows:
        """Inputs and targets for training."""
        return self._inputs(X).float(), self.targets(y)

    def targets(self, y: Array) -> Tensor:
        """Class indices (n,) as they are, real targets (n, outputs) standardised."""
        if self.target_scaler is None:
            return torch.as_tensor(y, dtype=torch.int64)
        return torch.from_numpy(self.target_scaler.transform(y)).float()

    def outputs(self, X: Inputs) -> Tensor:
        """Outputs (n, outputs) on the scale of the module, in double precision."""
        return forward(*self.for_prediction(X)).double()

    def for_prediction(self, X: Inputs) -> tuple[nn.Module, Tensor]:
        """Module and inputs in the precision of predictions."""
        if self.precise:
            return copy.deepcopy(self.module).double(), self._inputs(X)
        return self.module, self._inputs(X).float()

    def _inputs(self, X: Inputs) -> Tensor:
        """Inputs of the module (n, features), in double precision."""
        return self.preprocessing.encode(self.preprocessing.read(X))


@dataclass(frozen=True)
class History:
    """Mean training loss of each epoch, and the validation losses if there was early stopping."""

    losses: tuple[float, ...]
    validation: tuple[float, ...] = ()


def learn(
    problem: Problem,
    X: Inputs,
    y: Array,
    held: npt.NDArray[np.bool_],
    options: Options,
    seed: int,
    start: Network | None,
) -> tuple[Network, History]:
    """A network trained on the rows that are not held out, from ``start`` or from scratch."""
    with seeded(seed):
        network = copy.deepcopy(start)
        if network is None:
            network = Network.new(problem, X[~held], y[~held], options)
        if problem.needs_dropout and not has_dropout(network.module):
            raise ValueError(
                "calibrate=True needs dropout in the module, got none: set dropout > 0, or calibrate=False"
            )
        rows = network.rows(X[~held], y[~held])
        x, targets = network.rows(X[held], y[held]) if held.any() else rows
        step = make_step(network, problem, rows, options)

        def validate() -> float:
            return float(problem.criterion(forward(network.module, x), targets).mean())

        name = "training" if held.any() or not options.holds_out else "refitting"
        with console(name, options.epochs) if options.verbose else contextlib.nullcontext(silent) as report:
            return network, train(step, rows, options, seed, validate, report)


def learn_further(
    network: Network, problem: Problem, rows: Rows, options: Options, seed: int, optimiser: Any
) -> tuple[float, optim.Optimizer]:
    """Train for one epoch at a constant learning rate; the mean loss, and the optimiser for the next call."""
    with seeded(seed):
        step = make_step(network, problem, rows, options)
        if optimiser is None:
            optimiser = make_optimiser(step, options)
        for group in optimiser.param_groups:
            group["lr"] = options.learning_rate
        steps = number_of_batches(rows, options)
        schedule = Schedule(optimiser, "constant", {}, epochs=1, steps=steps)
        return mean_loss_of_epoch(step, optimiser, schedule, rows, options, seed), optimiser


def train(
    step: Step, rows: Rows, options: Options, seed: int, validate: Callable[[], float], report: Reporter
) -> History:
    """Train ``step.model`` with AdamW and half a cosine wave of the learning rate.

    ``validate`` returns the validation loss. It is called only for early stopping, after every epoch: then
    the best weights are restored at the end.
    """
    optimiser, steps = make_optimiser(step, options), number_of_batches(rows, options)
    schedule = Schedule(optimiser, "cosine", {}, epochs=options.epochs, steps=steps)
    losses: list[float] = []
    validation: list[float] = []
    best, best_weights = 0, copy.deepcopy(step.model.state_dict())
    for epoch in range(options.epochs):
        started = time.monotonic()
        losses.append(mean_loss_of_epoch(step, optimiser, schedule, rows, options, seed, epoch))
        row: dict[str, Any] = {"epoch": epoch + 1, "loss": losses[-1], "seconds": time.monotonic() - started}
        if options.patience is not None:
            validation.append(validate())
            row["validation"] = {"validation loss": validation[-1]}
            if validation[-1] <= min(validation):
                best, best_weights = epoch, copy.deepcopy(step.model.state_dict())
        report(row, options.epochs)
        if options.patience is not None and epoch - best >= options.patience:
            break
    if options.patience is not None:
        step.model.load_state_dict(best_weights)
    return History(tuple(losses), tuple(validation))


def mean_loss_of_epoch(
    step: Step,
    optimiser: optim.Optimizer,
    schedule: Schedule,
    rows: Rows,
    options: Options,
    seed: int,
    epoch: int = 0,
) -> float:
    """Train for one epoch on rows in random order, in batches whose sizes differ by at most one."""

    def backward(loss: Tensor) -> None:
        if not loss.isfinite():
            raise ValueError(
                f"training diverged, the loss is {loss.item()}: lower learning_rate={options.learning_rate}"
            )
        loss.backward()  # type: ignore[no-untyped-call]

    x, y = rows
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(derive(seed, Stream.ORDER, epoch)))
    batches = order.tensor_split(number_of_batches(rows, options))
    losses = train_epoch(
        step,
        optimiser,
        schedule,
        (
            TrainingBatch(x[batch], y[batch], derive(seed, Stream.STEP, epoch, number))
            for number, batch in enumerate(batches)
        ),
        backward,
    )
    return sum(float(loss) * len(batch) for loss, batch in zip(losses, batches, strict=True)) / len(x)


def number_of_batches(rows: Rows, options: Options) -> int:
    """The fewest batches with at most ``batch_size`` rows each."""
    return math.ceil(len(rows[0]) / options.batch_size)


def make_optimiser(step: Step, options: Options) -> optim.Optimizer:
    """AdamW over the module of a step."""
    settings = {"lr": options.learning_rate, "weight_decay": options.weight_decay}
    return build_optimiser("adamw", step.model.parameters(), settings)


def make_step(network: Network, problem: Problem, rows: Rows, options: Options) -> Step:
    """The training step; a trial on a copy shows that method, module and targets fit together."""
    x, y = rows
    first = slice(options.batch_size)
    try:
        step = Step(network.module, problem.method.fit(x, y), problem.criterion)
        copy.deepcopy(step)(x[first], y[first]).backward()
    except (ValueError, TypeError, RuntimeError) as error:
        raise ValueError(f"method and module cannot be trained on these targets: {error}") from error
    return step


def forward(module: nn.Module, x: Tensor) -> Tensor:
    """Outputs (n, outputs) in evaluation mode, a bounded number of rows at a time."""
    return torch.cat(forward_batches(module, torch.split(x, ROWS)))


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
