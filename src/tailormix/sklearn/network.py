"""A module with the scales of its inputs and targets: how it is built, rehearsed, trained and asked."""

from __future__ import annotations

import contextlib
import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from sklearn.preprocessing import StandardScaler
from torch import nn

from tailormix.method import Method, Step
from tailormix.models.mlp import MLP
from tailormix.training.reporting import console, silent
from tailormix.training.seeds import reseed

from .calibrating import has_dropout
from .loop import History, Rows, train

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import numpy.typing as npt
    from torch import Tensor

    from tailormix.training.reporting import Reporter
    from tailormix.words import Criterion

    from .settings import Settings

    Array = npt.NDArray[Any]

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
