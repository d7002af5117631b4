"""The trainer of one run: its steps, what it has seen, and checkpoints from which it resumes exactly."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from signal import SIGTERM
from typing import TYPE_CHECKING, Any, final

import torch

from tailormix.checks import readable
from tailormix.embeddings import EmbeddingBank
from tailormix.method import Step
from tailormix.training import checkpoint, evaluating, run_folder
from tailormix.training.optimisation import Schedule, TrainingBatch, build_optimiser, train_epoch
from tailormix.training.seeding import Sampler, Stream, derive, share
from tailormix.training.signals import Interrupted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from lightning_fabric import Fabric
    from torch import Tensor, nn

    from tailormix.components import Criterion
    from tailormix.data.splits import DataSplits
    from tailormix.method import Method
    from tailormix.strength import AutoStrength
    from tailormix.training.progress import Reporter
    from tailormix.training.settings import Settings


SYNC_EVERY = 25  # steps after which the loss is read from a device, which has to wait for that; on CPUs 1


class NonFiniteLoss(RuntimeError):
    """The loss, the weights or the outputs of a run are NaN or infinite."""


@dataclass(frozen=True, eq=False)
class Setup:
    """Data, model, method and criterion; None stands for cross-entropy or squared error.

    ``auto`` sets the strength of the method after each epoch, where that is wanted.
    """

    data: DataSplits
    model: nn.Module
    method: Method
    criterion: Criterion | None = None
    auto: AutoStrength | None = None


@dataclass
class State:
    """Where a run is and what it has seen.

    Attributes:
        epoch: epochs finished.
        step: steps finished in the current epoch.
        loss: sum over those steps of the mean loss.
        seconds: time spent in those steps.
        history: one row for each finished epoch.
        best_epoch: the epoch (from 1) with the best weights so far; 0 before the first.
        best_score: its score on the validation split, larger is better.
        best_weights: those weights.
        strength: the state of :class:`tailormix.AutoStrength`, where the method sets its own strength.

    """

    epoch: int = 0
    step: int = 0
    loss: float = 0.0
    seconds: float = 0.0
    history: list[dict[str, Any]] = field(default_factory=list)
    best_epoch: int = 0
    best_score: float | None = None
    best_weights: dict[str, Tensor] = field(default_factory=dict)
    strength: dict[str, Any] = field(default_factory=dict)

    def facts(self) -> dict[str, Any]:
        """All but the weights, for JSON."""
        return {key: value for key, value in vars(self).items() if key != "best_weights"}


@final
class Trainer:
    """Model, method and criterion as one step, with its optimiser, schedule, sampler and state."""

    def __init__(
        self, fabric: Fabric, setup: Setup, settings: Settings, path: Path, report: Reporter
    ) -> None:
        self.fabric = fabric
        self.setup = setup
        self.settings = settings
        self.path = path
        self.report = report
        self.sampler = Sampler(
            len(setup.data.train),
            settings.batch,
            settings.seed,
            settings.drop_last,
            fabric.global_rank,
            fabric.world_size,
        )
        model: Any = torch.compile(setup.model) if settings.compile else setup.model
        if settings.channels_last:  # activations follow the weights
            setup.model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        setup.model.to(fabric.device)  # fused optimisers need to know where the parameters are
        optimiser = build_optimiser(
            settings.optimiser.name,
            setup.model.parameters(),
            settings.optimiser.options,
            fused=settings.precision != "16-mixed",
        )
        self.step, self.optimiser = fabric.setup(Step(model, setup.method, setup.criterion), optimiser)
        self.schedule = Schedule(
            optimiser,
            settings.schedule.name,
            settings.schedule.options,
            epochs=settings.epochs,
            steps=self.sampler.steps,
        )
        self.group = torch.distributed.group.WORLD if fabric.world_size > 1 else None
        self.checkpoints = path / run_folder.CHECKPOINTS
        self.bank = make_bank(setup, settings)
        self.state = State()
        self.saved_bests: list[int] = []
        self.saved_at = time.monotonic()

    def steps(self) -> Iterator[None]:
        """Take the remaining steps of the current epoch; yields when the state is up to date."""
        self.refresh_bank()
        return self.count(
            train_epoch(self.step, self.optimiser, self.schedule, self.batches(*self.position), self.backward)
        )

    def refresh_bank(self) -> None:
        """Measure the embeddings of all training rows, if there is a bank and it is time."""
        epoch, step = self.position
        if self.bank is None or step or not self.bank.due(epoch):
            return
        rows = share(
            torch.arange(len(self.setup.data.train)), self.fabric.global_rank, self.fabric.world_size
        )
        plan = [
            (part, derive(self.settings.seed, Stream.BANK, epoch, number, self.fabric.global_rank))
            for number, part in enumerate(torch.split(rows, evaluating.ROWS))
        ]
        loaded = self.setup.data.train.batches(plan, self.settings.workers)
        self.setup.model.train()
        batches = ((part, x) for (x, _), (part, _) in zip(loaded, plan, strict=True))
        self.bank.refresh(self.setup.model, batches, group=self.group)

    def count(self, losses: Iterable[Tensor]) -> Iterator[None]:
        """Count steps while they are taken, each with its loss; yields when the state is up to date."""
        state, device = self.state, self.fabric.device
        started = time.monotonic() - state.seconds
        kind = torch.float32 if device.type == "mps" else torch.float64
        total = torch.tensor(state.loss, dtype=kind, device=device)
        for loss in losses:
            total += loss
            state.step += 1
            if readable(total) or state.step % SYNC_EVERY == 0 or state.step == self.sampler.steps:
                state.loss, state.seconds = float(total), time.monotonic() - started
                yield

    def batches(self, epoch: int, first: int) -> Iterator[TrainingBatch]:
        """The batches of an epoch from step ``first`` on, as far as this rank has a share in them."""
        plan = self.sampler.plan(epoch, first)
        loaded = self.setup.data.train.batches(plan, self.settings.workers)
        for step, ((x, y), (rows, _)) in enumerate(zip(loaded, plan, strict=True), start=first):
            ids = rows.to(x.device, non_blocking=True)
            known = {} if self.bank is None else {"embeddings": self.bank[ids]}
            yield TrainingBatch(
                x,
                y,
                seed=derive(self.settings.seed, Stream.STEP, epoch, step, self.fabric.global_rank),
                options={"ids": ids, "group": self.group, **known},
                weight=self.sampler.weight(step),
            )

    def backward(self, loss: Tensor) -> None:
        """Compute the gradients, clipped where the settings say so."""
        if readable(loss) and not loss.isfinite():
            raise self.non_finite("the loss is not finite", self.steps_done)  # the weights are still good
        self.fabric.backward(loss)
        if self.settings.clip:
            self.fabric.clip_gradients(self.step, self.optimiser, max_norm=self.settings.clip)

    def save_if_due(self, signal: int) -> None:
        """Save a checkpoint if it is time, or if any rank heard a signal: then raise :class:`Interrupted`."""
        due = time.monotonic() - self.saved_at >= self.settings.checkpoint_every
        stop, due, bad = self.any_rank(signal > 0, due, not math.isfinite(self.state.loss))
        if bad:
            raise self.non_finite("the loss is not finite", self.steps_done - 1)
        if stop or due:
            self.save()
        if stop:
            raise Interrupted(
                f"stopped in epoch {self.state.epoch + 1} after step {self.state.step} of "
                f"{self.sampler.steps}; the same command resumes it",
                signal or SIGTERM,
            )

    def finish_epoch(self, outputs: Tensor | None = None) -> None:
        """Validate, keep the best weights, and write the epoch's row; ``outputs`` as in ``validate``."""
        state, setup = self.state, self.setup
        getattr(setup.criterion, "end_epoch", lambda: None)()
        started = time.monotonic()
        try:
            metrics, score, outputs = evaluating.validate(setup, self.fabric, self.settings, outputs)
        except evaluating.NonFiniteOutputs as error:
            raise self.non_finite(f"{error} (seen in validation)", self.steps_done - 1) from error
        if score is not None and not math.isfinite(score):
            raise self.non_finite("the score is not finite (seen in validation)", self.steps_done - 1)
        split = evaluating.selecting_split(self.settings)
        row: dict[str, Any] = {
            "epoch": state.epoch + 1,
            "lr": self.optimiser.param_groups[0]["lr"],
            "loss": self.mean_over_ranks(state.loss) / self.sampler.steps,
            split: metrics,
            "seconds": state.seconds + time.monotonic() - started,
        }
        if setup.auto is not None and outputs is not None:
            row["strength"] = setup.auto.strength
            setup.auto.observe(outputs, setup.data.validation.targets.cpu())
            state.strength = setup.auto.state_dict()
        best = state.history[state.best_epoch - 1][split] if state.best_epoch else {}
        on_ties = wins_ties(metrics, best, imitate=bool(self.settings.imitate))
        if self.settings.select == "last" or is_better(score, state.best_score, on_ties=on_ties):
            state.best_epoch, state.best_score = row["epoch"], score
            state.best_weights = checkpoint.module_tensors(setup.model)
        state.history.append(row)
        state.epoch, state.step, state.loss, state.seconds = row["epoch"], 0, 0.0, 0.0
        if self.fabric.is_global_zero:
            run_folder.append_metrics(self.path, row)
            self.report(row, self.settings.epochs)

    def save(self) -> None:
        """Write a checkpoint, and the best weights if they are new; raise where weights are not finite.

        It is all that a run needs to resume as if it had never stopped: learning rates and random numbers
        follow from the position.
        """
        if any(self.any_rank(not self.is_finite())):
            raise self.non_finite("weights or the optimiser's state are not finite", self.steps_done - 1)
        state, loss = self.state, self.mean_over_ranks(self.state.loss)
        if self.fabric.is_global_zero:
            if state.best_epoch and state.best_epoch not in self.saved_bests:
                best = checkpoint.Checkpoint(state.best_weights, {"epoch": state.best_epoch})
                checkpoint.write_or_explain(checkpoint.best_file(self.checkpoints, state.best_epoch), best)
            optimiser, rest = checkpoint.optimiser_tensors(self.optimiser)
            tensors = checkpoint.prefixed("model", checkpoint.module_tensors(self.setup.model))
            tensors |= checkpoint.prefixed("criterion", checkpoint.module_tensors(self.setup.criterion))
            tensors |= checkpoint.prefixed("optimiser", optimiser)
            tensors |= checkpoint.prefixed("bank", {} if self.bank is None else self.bank.state_dict())
            facts = {**state.facts(), "loss": loss, "optimiser": rest}
            checkpoint.save(self.checkpoints, checkpoint.Checkpoint(tensors, facts))
            self.saved_bests.append(state.best_epoch)
            if len(self.saved_bests) > 2:  # before that, an older checkpoint may name a best unknown here
                checkpoint.drop_old_bests(self.checkpoints, set(self.saved_bests[-2:]))
        self.saved_at = time.monotonic()

    def resume(self) -> None:
        """Return to the newest intact checkpoint, if there is one."""
        found = checkpoint.latest(self.checkpoints)
        if found is None:
            return
        facts, tensors = dict(found.facts), found.tensors
        optimiser = checkpoint.under("optimiser", tensors)
        checkpoint.load_optimiser(self.optimiser, optimiser, facts.pop("optimiser"))
        checkpoint.load_module(self.setup.model, checkpoint.under("model", tensors))
        if isinstance(self.setup.criterion, torch.nn.Module):
            checkpoint.load_module(self.setup.criterion, checkpoint.under("criterion", tensors))
        if self.bank is not None:
            self.bank.load_state_dict(checkpoint.under("bank", tensors))
        self.state = State(**facts)
        if self.setup.auto is not None and self.state.strength:
            self.setup.auto.load_state_dict(self.state.strength)
        for _ in range(self.steps_done):
            self.schedule.advance()
        if epoch := self.state.best_epoch:
            best = checkpoint.read(checkpoint.best_file(self.checkpoints, epoch))
            self.state.best_weights = dict(best.tensors)
            self.saved_bests.append(epoch)

    def any_rank(self, *answers: bool) -> list[bool]:
        """For each question whether any rank says yes."""
        if self.fabric.world_size == 1:  # asked after every step, of which Fabric would be a tenth
            return list(answers)
        votes = torch.tensor(answers, dtype=torch.float32, device=self.fabric.device)
        return [bool(vote) for vote in self.reduced(votes, "sum").tolist()]

    def mean_over_ranks(self, value: float) -> float:
        """The mean of the ranks' values, the same on all."""
        kind = torch.float32 if self.fabric.device.type == "mps" else torch.float64
        return float(self.reduced(torch.tensor(value, dtype=kind, device=self.fabric.device), "mean"))

    def reduced(self, values: Tensor, how: str) -> Tensor:
        """The sum or mean of the ranks' tensors."""
        if self.fabric.world_size == 1:
            return values
        found: Tensor = self.fabric.all_reduce(values, reduce_op=how)  # type: ignore[assignment]
        return found

    @property
    def position(self) -> tuple[int, int]:
        """Epochs finished, and steps finished in the current one."""
        return self.state.epoch, self.state.step

    @property
    def steps_done(self) -> int:
        """Steps finished since the start of the run."""
        return self.state.epoch * self.sampler.steps + self.state.step

    def is_finite(self) -> bool:
        """Whether weights and the optimiser's state are: a large step leaves a finite loss behind, once."""
        tensors = [*self.setup.model.parameters(), *checkpoint.optimiser_tensors(self.optimiser)[0].values()]
        return all(bool(tensor.isfinite().all()) for tensor in tensors)

    def non_finite(self, what: str, steps_before: int) -> NonFiniteLoss:
        """The error for what is not finite in or after the step with so many before it."""
        epoch, step = divmod(steps_before, self.sampler.steps)
        rows = self.sampler.plan(epoch, step)[0][0].tolist()
        return NonFiniteLoss(
            f"{what} in epoch {epoch + 1}, step {step + 1} of {self.sampler.steps}; "
            f"training rows of the batch: {rows}; "
            f"last good checkpoint: {checkpoint.newest(self.checkpoints) or 'none'}"
        )


def make_bank(setup: Setup, settings: Settings) -> EmbeddingBank | None:
    """The bank of embeddings that the settings ask for, if they do."""
    every = settings.embeddings.options.get("every", 0)
    return EmbeddingBank(len(setup.data.train), every, layer=setup.method.embedding_layer) if every else None


def is_better(score: float | None, best: float | None, *, on_ties: bool) -> bool:
    """Whether an epoch replaces the best one so far; ``on_ties`` decides between equal scores.

    Without a validation split (``score`` None) the latest epoch is kept. NaN is never the best.

    >>> is_better(0.5, 0.5, on_ties=False), is_better(0.5, 0.5, on_ties=True)
    (False, True)
    >>> is_better(math.nan, None, on_ties=True)
    False
    """
    if score is not None and math.isnan(score):
        return False
    if score is None or best is None:
        return True
    return score > best or (score == best and on_ties)


def wins_ties(metrics: Mapping[str, float], best: Mapping[str, float], *, imitate: bool) -> bool:
    """Whether an epoch replaces the best one so far where their scores are equal.

    Accuracy has many ties, and the first epoch of a tie is the least trained: the lower NLL wins. The
    released code keeps the first one for classes, and the last one for regression.

    >>> wins_ties({"accuracy": 1.0, "nll": 0.1}, {"accuracy": 1.0, "nll": 0.7}, imitate=False)
    True
    >>> wins_ties({"accuracy": 1.0, "nll": 0.1}, {"accuracy": 1.0, "nll": 0.7}, imitate=True)
    False
    """
    if "nll" not in metrics:
        return True
    return not imitate and "nll" in best and metrics["nll"] < best["nll"]
