"""What a run knows besides its weights, saved and restored."""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from tailormix.training import checkpoint, run_folder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lightning_fabric import Fabric
    from torch import Tensor, optim

    from tailormix.data.splits import Task
    from tailormix.training.loop import Parts
    from tailormix.training.optimisation import Position
    from tailormix.training.progress import Reporter
    from tailormix.training.seeding import Sampler
    from tailormix.training.settings import Settings


@dataclass
class State:
    """Where a run is and what it has seen.

    Attributes:
        epoch: epochs finished.
        step: steps finished in the epoch under way.
        loss: sum over those steps of the mean loss.
        seconds: time spent in those steps.
        history: one row for each finished epoch.
        best_epoch: the epoch (from 1) whose weights are kept; 0 before the first.
        best_score: its score on the validation split, larger is better.
        best_weights: those weights.

    """

    epoch: int = 0
    step: int = 0
    loss: float = 0.0
    seconds: float = 0.0
    history: list[dict[str, Any]] = field(default_factory=list)
    best_epoch: int = 0
    best_score: float | None = None
    best_weights: dict[str, Tensor] = field(default_factory=dict)

    def facts(self) -> dict[str, Any]:
        """All but the weights, for JSON."""
        return {key: value for key, value in vars(self).items() if key != "best_weights"}


def is_better(score: float | None, best: float | None, task: Task) -> bool:
    """Whether an epoch takes the place of the best one so far.

    Without a validation split (``score`` None) the latest epoch is kept. Equal scores keep the earlier epoch
    for classes, where accuracy has many ties, and the later one for regression, as the released code does.

    >>> is_better(0.5, 0.5, "classification"), is_better(-0.5, -0.5, "regression")
    (False, True)
    """
    if score is None or best is None:
        return True
    return score >= best if task == "regression" else score > best


@dataclass(eq=False)
class Run:
    """Everything that the loop holds in its hands."""

    fabric: Fabric
    parts: Parts
    settings: Settings
    path: Path
    report: Reporter
    step: Any
    optimiser: optim.Optimizer
    sampler: Sampler
    factor: Callable[[Position], float]
    state: State = field(default_factory=State)
    saved_bests: list[int] = field(default_factory=list)
    saved_at: float = field(default_factory=time.monotonic)

    @functools.cached_property
    def parameters(self) -> list[torch.nn.Parameter]:
        """What is trained."""
        return list(self.parts.model.parameters())

    @property
    def checkpoints(self) -> Path:
        """The folder of checkpoints."""
        return self.path / run_folder.CHECKPOINTS

    @property
    def group(self) -> Any:
        """The ranks over which mean distances are taken."""
        return torch.distributed.group.WORLD if self.fabric.world_size > 1 else None


def mean_over_ranks(run: Run, value: float) -> float:
    """The mean of each rank's value, the same on all."""
    if run.fabric.world_size == 1:
        return value
    shared = torch.tensor(value, dtype=torch.float64, device=run.fabric.device)
    torch.distributed.all_reduce(shared)
    return float(shared) / run.fabric.world_size


def save(run: Run) -> None:
    """Write a checkpoint, and the best weights if they are new."""
    state = run.state
    loss = mean_over_ranks(run, state.loss)
    if run.fabric.is_global_zero:
        if state.best_epoch and state.best_epoch not in run.saved_bests:
            best = checkpoint.Checkpoint(state.best_weights, {"epoch": state.best_epoch})
            checkpoint.write_or_explain(checkpoint.best_file(run.checkpoints, state.best_epoch), best)
        checkpoint.save(run.checkpoints, packed(run, loss))
        run.saved_bests.append(state.best_epoch)
        if len(run.saved_bests) > 2:  # before that, an older checkpoint may name a best unknown here
            checkpoint.drop_old_bests(run.checkpoints, set(run.saved_bests[-2:]))
    run.saved_at = time.monotonic()


def packed(run: Run, loss: float) -> checkpoint.Checkpoint:
    """All that a run needs to go on as if it had never stopped; random numbers follow from the position."""
    optimiser, rest = checkpoint.optimiser_tensors(run.optimiser)
    tensors = checkpoint.prefixed("model", checkpoint.module_tensors(run.parts.model))
    tensors |= checkpoint.prefixed("criterion", checkpoint.module_tensors(run.parts.criterion))
    tensors |= checkpoint.prefixed("optimiser", optimiser)
    return checkpoint.Checkpoint(tensors, {**run.state.facts(), "loss": loss, "optimiser": rest})


def resume(run: Run) -> None:
    """Go back to the newest whole checkpoint, if there is one."""
    found = checkpoint.latest(run.checkpoints)
    if found is None:
        return
    facts = dict(found.facts)
    checkpoint.load_optimiser(
        run.optimiser, checkpoint.under("optimiser", found.tensors), facts.pop("optimiser")
    )
    checkpoint.load_module(run.parts.model, checkpoint.under("model", found.tensors))
    if isinstance(run.parts.criterion, torch.nn.Module):
        checkpoint.load_module(run.parts.criterion, checkpoint.under("criterion", found.tensors))
    run.state = State(**facts)
    if epoch := run.state.best_epoch:
        run.state.best_weights = dict(checkpoint.read(checkpoint.best_file(run.checkpoints, epoch)).tensors)
        run.saved_bests.append(epoch)


def checkpoint_size(run: Run) -> int:
    """Bytes of a checkpoint once the optimiser has its state: about three times the weights."""
    tensors = run.parts.model.state_dict().values()
    return sum(3 * tensor.nbytes for tensor in tensors)


def best_file_of(path: Path, epoch: int) -> Path:
    """The best weights of the run in folder ``path``."""
    return checkpoint.best_file(path / run_folder.CHECKPOINTS, epoch)
