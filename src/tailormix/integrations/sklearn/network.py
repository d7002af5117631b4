"""The networks inside an estimator: how they are built and trained, and their outputs."""

from __future__ import annotations

import contextlib
import copy
import math
import time
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from sklearn.preprocessing import StandardScaler
from torch import nn

from tailormix.data.preprocessing import TablePreprocessing
from tailormix.method import Method, Step
from tailormix.models.mlp import MLP
from tailormix.strength import AutoStrength
from tailormix.training.evaluating import ROWS, forward_batches, has_dropout
from tailormix.training.joint_step import JointBatch, JointStep, NotStackable, check_joint
from tailormix.training.optimisation import Schedule, TrainingBatch, build_optimiser
from tailormix.training.progress import console, silent
from tailormix.training.seeding import Sampler, Stream, derive, reseed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    import numpy.typing as npt
    from torch import Tensor, optim

    from tailormix.components import Criterion
    from tailormix.data.files.tables import Table
    from tailormix.integrations.sklearn.options import Options
    from tailormix.training.progress import Reporter

    Array = npt.NDArray[Any]
    #: inputs as given: numbers (n, d) with NaN for missing, or a table
    Inputs = Array | Table
    #: inputs (n, features) of the module and targets, class indices (n,) or real (n, outputs)
    Rows = tuple[Tensor, Tensor]


@dataclass(frozen=True, eq=False)
class Problem:
    """What is to be learned: the method, the loss (n,) of outputs, and how many outputs there are.

    ``auto``: rows held out set the strength of the method. ``classes`` is their number, ``None`` for real
    targets. ``combine`` makes one answer (n, outputs) of the members' (k, n, outputs). ``needs_dropout``
    refuses modules without it.
    """

    method: Method
    auto: bool
    criterion: Criterion
    outputs: int
    classes: int | None
    combine: Callable[[Tensor], Tensor]
    needs_dropout: bool = False

    def loss(self, network: Network, X: Inputs, y: Array) -> float:
        """The mean loss of the members' common answer."""
        return float(self.criterion(self.combine(network.outputs(X)).float(), network.targets(y)).mean())


@dataclass(frozen=True, eq=False)
class Network:
    """One module or several, and the preprocessing they were trained with.

    ``target_scaler`` is ``None`` for classes. ``precise`` modules predict in double precision, so that the
    prediction for a row does not depend on the rows beside it. Modules of the user predict as they were
    trained: they may hold tensors that cannot be cast.
    """

    modules: tuple[nn.Module, ...]
    preprocessing: TablePreprocessing
    target_scaler: StandardScaler | None
    precise: bool

    @classmethod
    def new(cls, problem: Problem, X: Inputs, y: Array, options: Options, seeds: Sequence[int]) -> Network:
        """Untrained: preprocessing from these rows, the weights of each member from its seed."""
        preprocessing = TablePreprocessing.fit(X)
        features = len(preprocessing.output_names())
        modules = []
        for seed in seeds:
            with seeded(seed):
                modules.append(_module(features, problem.outputs, options))
        # as arrays even where the user's default is pandas
        scaler = None if problem.classes else StandardScaler().set_output(transform="default").fit(y)
        return cls(tuple(modules), preprocessing, scaler, options.module is None)

    def rescaled(self, X: Inputs, y: Array) -> Network:
        """The same modules, with scales that have seen further rows."""
        target_scaler = copy.deepcopy(self.target_scaler)
        if target_scaler is not None:
            target_scaler.partial_fit(y)
        return Network(self.modules, self.preprocessing.updated(X), target_scaler, self.precise)

    def rows(self, X: Inputs, y: Array) -> Rows:
        """Inputs and targets for training."""
        return self._inputs(X).float(), self.targets(y)

    def targets(self, y: Array) -> Tensor:
        """Class indices (n,) as they are, real targets (n, outputs) standardised."""
        if self.target_scaler is None:
            return torch.as_tensor(y, dtype=torch.int64)
        return torch.from_numpy(self.target_scaler.transform(y)).float()

    def outputs(self, X: Inputs) -> Tensor:
        """Outputs (members, n, outputs) on the scale of the modules, in double precision."""
        modules, x = self.for_prediction(X)
        return torch.stack([forward(module, x).double() for module in modules])

    def for_prediction(self, X: Inputs) -> tuple[list[nn.Module], Tensor]:
        """Modules and inputs in the precision of predictions."""
        if self.precise:
            return [copy.deepcopy(module).double() for module in self.modules], self._inputs(X)
        return list(self.modules), self._inputs(X).float()

    def _inputs(self, X: Inputs) -> Tensor:
        """Inputs of the modules (n, features), in double precision."""
        return self.preprocessing.encode(self.preprocessing.read(X))


def _module(features: int, outputs: int, options: Options) -> nn.Module:
    """An untrained module, its weights from torch's generator."""
    if options.module is None:
        return MLP(features, outputs, options.hidden, options.dropout)
    module = options.module(features, outputs)
    if not isinstance(module, nn.Module):
        raise TypeError(f"module must return an nn.Module, got {type(module).__name__}")
    return module


@dataclass(frozen=True)
class History:
    """Mean training loss of each epoch, losses on rows held out if they were looked at, and strengths.

    ``strengths`` are those that rows held out have set, for each epoch and member.
    """

    losses: list[float]
    validation: list[float]
    strengths: list[list[float]]


def learn(
    problem: Problem,
    X: Inputs,
    y: Array,
    held: npt.NDArray[np.bool_],
    options: Options,
    seeds: Sequence[int],
    start: Network | None,
    strengths: Sequence[Sequence[float]] | None = None,
) -> tuple[Network, History]:
    """A network trained on the rows that are not held out, from ``start`` or from scratch.

    Automatic strength is steered by the rows held out, or takes the ``strengths`` of another training.
    """
    network = copy.deepcopy(start)
    if network is None:
        network = Network.new(problem, X[~held], y[~held], options, seeds)
    if problem.needs_dropout and not all(map(has_dropout, network.modules)):
        raise ValueError(
            "calibrate=True needs dropout in the module, got none: set dropout > 0, or calibrate=False"
        )
    rows = network.rows(X[~held], y[~held])
    held_rows = network.rows(X[held], y[held]) if held.any() else None
    with seeded(seeds[0]):
        members = Members(network, problem, rows, options, seeds)
        name = "training" if strengths is None else "refitting"
        with console(name, options.epochs) if options.verbose else contextlib.nullcontext(silent) as report:
            return network, members.train(held_rows, strengths, report)


def learn_further(
    network: Network,
    problem: Problem,
    rows: Rows,
    options: Options,
    seeds: Sequence[int],
    optimiser: optim.Optimizer | None,
) -> tuple[float, optim.Optimizer]:
    """Train for one epoch at a constant learning rate; the mean loss, and the optimiser for the next call."""
    with seeded(seeds[0]):
        members = Members(network, problem, rows, options, seeds, optimiser, joint=False)
        for group in members.optimiser.param_groups:
            group["lr"] = options.learning_rate
        return members.epoch(members.schedule("constant", 1), 0), members.optimiser


class Members:
    """The modules of a network in training: all in one pass where that can be, else one after the other.

    Each member has its own order of rows and its own draws, from its seed, and one optimiser holds the
    parameters of all: AdamW changes each number by its own gradient alone.
    """

    def __init__(
        self,
        network: Network,
        problem: Problem,
        rows: Rows,
        options: Options,
        seeds: Sequence[int],
        optimiser: optim.Optimizer | None = None,
        *,
        joint: bool = True,
    ) -> None:
        self.modules, self.problem, self.rows = network.modules, problem, rows
        self.options, self.seeds = options, seeds
        self.number = math.ceil(len(rows[0]) / options.batch_size)  # of batches
        self.autos, self.steps = self._checked_steps()
        self.joint = self._joint() if joint and len(seeds) > 1 else None
        parameters = (p for module in self.modules for p in module.parameters())
        settings = {"lr": options.learning_rate, "weight_decay": options.decays[0]}
        self.optimiser = optimiser or build_optimiser(
            "adamw", parameters if self.joint is None else self.joint.parameters.values(), settings
        )

    def _checked_steps(self) -> tuple[list[AutoStrength], list[Step]]:
        """The training steps; a trial on a copy shows that method, module and targets fit together."""
        x, y = self.rows
        first = slice(self.options.batch_size)
        try:
            method = self.problem.method.fit(x, y)
            autos = [AutoStrength(method) for _ in self.seeds] if self.problem.auto else []
            methods = [auto.method for auto in autos] or [method] * len(self.seeds)
            steps = [
                Step(module, own, self.problem.criterion)
                for module, own in zip(self.modules, methods, strict=True)
            ]
            for step in copy.deepcopy(steps):
                step(x[first], y[first]).backward()
        except (ValueError, TypeError, RuntimeError) as error:
            raise ValueError(f"method and module cannot be trained on these targets: {error}") from error
        return autos, steps

    def _joint(self) -> JointStep | None:
        try:
            check_joint(self.steps, _apart(next(self._batches(0))))
        except NotStackable as error:
            warnings.warn(f"members are trained one after the other: {error}", stacklevel=2)
            return None
        return JointStep(self.steps)

    def train(
        self, held: Rows | None, strengths: Sequence[Sequence[float]] | None, report: Reporter
    ) -> History:
        """Train with AdamW and half a cosine wave of the learning rate.

        With early stopping, the weights with the lowest loss on the rows held out are restored at the end.
        """
        schedule, patience = self.schedule("cosine", self.options.epochs), self.options.patience
        history = History([], [], [])
        best, best_weights = 0, self._weights()
        for epoch in range(self.options.epochs):
            started = time.monotonic()
            history.strengths.append(self._strengths(None if strengths is None else strengths[epoch]))
            history.losses.append(self.epoch(schedule, epoch))
            row: dict[str, Any] = {"epoch": epoch + 1, "loss": history.losses[-1]}
            if held is not None and (self.autos or patience is not None):
                history.validation.append(self._observe(*held))
                row["validation"] = {"validation loss": history.validation[-1]}
                if patience is not None and history.validation[-1] <= min(history.validation):
                    best, best_weights = epoch, self._weights()
            report({**row, "seconds": time.monotonic() - started}, self.options.epochs)
            if patience is not None and epoch - best >= patience:
                break
        if patience is not None:
            for module, weights in zip(self.modules, best_weights, strict=True):
                module.load_state_dict(weights)
        self._release()
        return history

    def _strengths(self, known: Sequence[float] | None) -> list[float]:
        """The automatic strengths of the next epoch, set to known ones where there are such."""
        for auto, strength in zip(self.autos, known or (), strict=known is not None):
            auto.load_state_dict({**auto.state_dict(), "strength": strength})
        return [auto.strength for auto in self.autos]

    def _observe(self, x: Tensor, y: Tensor) -> float:
        """The loss of the members' common answer on rows held out, which also steer automatic strengths."""
        answers = torch.stack([forward(module, x) for module in self.modules])
        for auto, answer in zip(self.autos, answers, strict=bool(self.autos)):
            auto.observe(answer, y)
        return float(self.problem.criterion(self.problem.combine(answers), y).mean())

    def schedule(self, name: str, epochs: int) -> Schedule:
        """The learning rates of so many epochs."""
        return Schedule(self.optimiser, name, {}, epochs=epochs, steps=self.number)

    def epoch(self, schedule: Schedule, epoch: int) -> float:
        """Train for one epoch; the mean loss of all members."""
        for module in self.modules:
            module.train()
        total = 0.0
        for batch in self._batches(epoch):
            schedule.advance()
            losses = self._losses(batch)
            mean = losses.mean().item()
            if not math.isfinite(mean):
                rate = self.options.learning_rate
                raise ValueError(f"training diverged, the loss is {mean}: lower learning_rate={rate}")
            losses.sum().backward()  # type: ignore[no-untyped-call]
            self.optimiser.step()
            self.optimiser.zero_grad()
            total += mean * batch.x.shape[1]
        return total / len(self.rows[0])

    def _losses(self, batch: JointBatch) -> Tensor:
        """The losses (members,) of one batch each."""
        if self.joint is not None:
            return self.joint.losses(batch)
        losses = []
        for step, own in zip(self.steps, _apart(batch), strict=True):
            reseed(own.seed, own.x.device)
            losses.append(step(own.x, own.y))
        return torch.stack(losses)

    def _batches(self, epoch: int) -> Iterator[JointBatch]:
        """One batch of each member per step: rows in random order, in sizes that differ by at most one."""
        x, y = self.rows
        orders = torch.stack([Sampler(len(x), 1, seed).order(epoch) for seed in self.seeds])
        for number, rows in enumerate(orders.tensor_split(self.number, dim=1)):
            seeds = [derive(seed, Stream.STEP, epoch, number) for seed in self.seeds]
            yield JointBatch(x[rows], y[rows], seeds)

    def _weights(self) -> list[dict[str, Tensor]]:
        """A copy of all parameters and buffers of each member."""
        return [
            {name: value.clone() for name, value in module.state_dict().items()} for module in self.modules
        ]

    def _release(self) -> None:
        """Make the parameters and buffers of every member tensors of its own, no longer rows of stacks."""
        for module in self.modules:
            for tensor in (*module.parameters(), *module.buffers()):
                tensor.data = tensor.data.clone()


def _apart(batch: JointBatch) -> list[TrainingBatch]:
    """The batch of each member."""
    return [TrainingBatch(*own) for own in zip(batch.x, batch.y, batch.seeds, strict=True)]


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
