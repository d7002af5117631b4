"""The loop: its parts, epochs and validation, and a run from start to result."""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from tailormix.method import Step
from tailormix.training import checkpoint, evaluating, run_folder
from tailormix.training.evaluating import judge, selecting_split
from tailormix.training.optimisation import Position, build_optimiser, schedule
from tailormix.training.seeding import Sampler, Stream, derive, reseed
from tailormix.training.signals import Interrupted, polite_stop
from tailormix.training.state import (
    Run,
    best_file_of,
    checkpoint_size,
    is_better,
    mean_over_ranks,
    resume,
    save,
)

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from lightning_fabric import Fabric
    from torch import Tensor, nn

    from tailormix.components import Criterion
    from tailormix.data.splits import DataSplits
    from tailormix.method import Method
    from tailormix.training.progress import Reporter
    from tailormix.training.settings import Settings
    from tailormix.training.state import State


@dataclass(frozen=True, eq=False)
class Parts:
    """Data, model, method and criterion; None stands for cross-entropy or squared error."""

    data: DataSplits
    model: nn.Module
    method: Method
    criterion: Criterion | None = None


def make_fabric(settings: Settings) -> Fabric:
    """One device, or every process that ``torchrun`` started, under DDP (gloo on CPUs, nccl on GPUs)."""
    alone = "TORCHELASTIC_RUN_ID" not in os.environ
    from lightning_fabric import Fabric

    machine: dict[str, Any] = {"accelerator": settings.accelerator, "precision": settings.precision}
    if alone:
        return Fabric(devices=1, **machine)
    here, everywhere = int(os.environ["LOCAL_WORLD_SIZE"]), int(os.environ["WORLD_SIZE"])
    fabric = Fabric(devices=here, num_nodes=everywhere // here, strategy="ddp", **machine)
    fabric.launch()
    return fabric


LOOK_EVERY = 25  # steps between looks at a device's numbers; on CPUs a look costs nothing


class NonFiniteLoss(run_folder.RunError):
    """The loss is NaN or infinite."""


def fit(fabric: Fabric, parts: Parts, settings: Settings, path: Path, report: Reporter) -> State:
    """Train to the end, going on from the newest checkpoint in ``path``; the state holds the best weights."""
    run = set_up(fabric, parts, settings, path, report)
    resume(run)
    run_folder.need_room(path, checkpoint_size(run))
    if fabric.is_global_zero:
        run_folder.rewrite_metrics(path, run.state.history)
    with polite_stop() as asked:
        while run.state.epoch < settings.epochs:
            train_epoch(run, asked)
            finish_epoch(run)
    save(run)
    return run.state


def set_up(fabric: Fabric, parts: Parts, settings: Settings, path: Path, report: Reporter) -> Run:
    """Model, method and criterion as one wrapped step, with optimiser, sampler and schedule."""
    model: Any = torch.compile(parts.model) if settings.compile else parts.model
    if settings.channels_last:
        # activations follow the weights
        parts.model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    parts.model.to(fabric.device)  # fused optimisers ask where the parameters lie
    optimiser = build_optimiser(
        settings.optimiser.name,
        parts.model.parameters(),
        settings.optimiser.options,
        fused=settings.precision != "16-mixed",
    )
    for group in optimiser.param_groups:
        group["base_lr"] = group["lr"]
    step, optimiser = fabric.setup(Step(model, parts.method, parts.criterion), optimiser)
    sampler = Sampler(
        len(parts.data.train),
        settings.batch,
        settings.seed,
        settings.drop_last,
        fabric.global_rank,
        fabric.world_size,
    )
    factor = schedule(settings.schedule.name, settings.schedule.options)
    return Run(fabric, parts, settings, path, report, step, optimiser, sampler, factor)


def train_epoch(run: Run, asked: threading.Event) -> None:
    """The rest of the epoch under way."""
    state, device = run.state, run.fabric.device
    on_cpu = device.type == "cpu"
    precise = torch.float32 if device.type == "mps" else torch.float64
    total: Any = state.loss if on_cpu else torch.tensor(state.loss, dtype=precise, device=device)
    look_every = 1 if on_cpu else LOOK_EVERY
    started = time.monotonic() - state.seconds
    run.step.train()
    for loss in losses(run):
        total = total + train_step(run, loss)
        state.step += 1
        if state.step % look_every == 0 or state.step == run.sampler.steps:
            state.loss, state.seconds = float(total), time.monotonic() - started
            look(run, asked)


def losses(run: Run) -> Iterator[Callable[[], Tensor]]:
    """For each step to come of the epoch under way a function that finds the loss of its batch."""
    state, step, device = run.state, run.step, run.fabric.device
    plan = run.sampler.plan(state.epoch, state.step)
    batches = run.parts.data.train.batches(plan, run.settings.workers)
    for (x, y), (rows, _) in zip(batches, plan, strict=True):
        yield partial(step, x, y, ids=rows.to(device, non_blocking=True), group=run.group)


def train_step(run: Run, find: Callable[[], Tensor]) -> Tensor | float:
    """One step of the optimiser on the loss that ``find`` finds; the loss, as a number where that is free."""
    state, device = run.state, run.fabric.device
    set_rates(run, state.step)
    reseed(derive(run.settings.seed, Stream.STEP, state.epoch, state.step, run.fabric.global_rank), device)
    loss = find()
    found = loss.item() if device.type == "cpu" else loss.detach()
    if isinstance(found, float) and not math.isfinite(found):
        raise non_finite(run, state.step)  # before the step, so that the weights stay good
    share = run.sampler.weight(state.step)
    run.fabric.backward(loss if share == 1 else loss * share)
    if run.settings.clip:
        run.fabric.clip_gradients(run.step, run.optimiser, max_norm=run.settings.clip)
    run.optimiser.step()
    run.optimiser.zero_grad()
    return found if share == 1 else found * share


def set_rates(run: Run, step: int) -> float:
    """Give every group of parameters its learning rate at a step of this epoch; that of the first group."""
    factor = run.factor(Position(run.state.epoch, step, run.settings.epochs, run.sampler.steps))
    for group in run.optimiser.param_groups:
        group["lr"] = group["base_lr"] * factor
    return float(run.optimiser.param_groups[0]["lr"])


def look(run: Run, asked: threading.Event) -> None:
    """Between steps: is the loss a number, was a stop asked for, is a checkpoint due? All ranks agree."""
    state = run.state
    due = time.monotonic() - run.saved_at >= run.settings.checkpoint_every
    stop, due, bad = agreed(run, asked.is_set(), due, state.loss - state.loss != 0)
    if bad:
        raise non_finite(run, state.step - 1)
    if stop or due:
        save(run)
    if stop:
        raise Interrupted(
            f"stopped in epoch {state.epoch + 1} after step {state.step} of {run.sampler.steps}; "
            "the same command goes on from there"
        )


def agreed(run: Run, *answers: bool) -> tuple[bool, ...]:
    """For each question whether any rank says yes."""
    if run.fabric.world_size == 1:
        return answers
    votes = torch.tensor(answers, dtype=torch.float32, device=run.fabric.device)
    torch.distributed.all_reduce(votes)
    return tuple(bool(vote) for vote in votes.tolist())


def finish_epoch(run: Run) -> None:
    """Validate, keep the best weights, write the epoch's row and begin the next."""
    state, parts = run.state, run.parts
    getattr(parts.criterion, "end_epoch", lambda: None)()
    started = time.monotonic()
    metrics, score = evaluating.validate(parts, run.fabric, run.settings)
    row: dict[str, Any] = {
        "epoch": state.epoch + 1,
        "lr": set_rates(run, run.sampler.steps - 1),  # not as found: after a kill right here it is not set
        "loss": mean_over_ranks(run, state.loss) / run.sampler.steps,
        evaluating.selecting_split(run.settings): metrics,
        "seconds": state.seconds + time.monotonic() - started,
    }
    if is_better(score, state.best_score, parts.data.task):
        state.best_epoch, state.best_score = row["epoch"], score
        state.best_weights = checkpoint.module_tensors(parts.model)
    state.history.append(row)
    state.epoch, state.step, state.loss, state.seconds = row["epoch"], 0, 0.0, 0.0
    if run.fabric.is_global_zero:
        run_folder.append_metrics(run.path, row)
        run.report(row, run.settings.epochs)


def non_finite(run: Run, step: int) -> NonFiniteLoss:
    """The error of a loss that is no number."""
    rows = run.sampler.plan(run.state.epoch, step)[0][0].tolist()
    kept = run.checkpoints / checkpoint.LAST
    return NonFiniteLoss(
        f"the loss is not finite in epoch {run.state.epoch + 1}, step {step + 1} of {run.sampler.steps}; "
        f"training rows of the batch: {rows}; last good checkpoint: {kept if kept.exists() else 'none'}"
    )


def run(
    fabric: Fabric,
    make: Callable[[], Parts],
    settings: Settings,
    path: Path,
    *,
    report: Reporter,
    facts: Mapping[str, Any],
) -> dict[str, Any]:
    """Train what ``make`` builds and write ``result.json``; a folder that has one is not trained again.

    ``make`` is called with torch's generator at the seed of the weights; its state is put back at the end.
    ``facts`` go into the result as they are.
    """
    if done := run_folder.read_json(path / run_folder.RESULT):
        return done
    devices = [fabric.device] if fabric.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.default_generator.manual_seed(derive(settings.seed, Stream.WEIGHTS))
        parts = make()
        state = fit(fabric, parts, settings, path, report)
        checkpoint.load_module(parts.model, state.best_weights)
        measured = judge(parts, fabric, settings, path)
    result = {**facts, **summarised(state, parts, settings), **measured}
    result["best weights"] = best_file_of(path, state.best_epoch).relative_to(path).as_posix()
    if fabric.is_global_zero:
        run_folder.write_json(path / run_folder.RESULT, result)
    fabric.barrier()
    return result


def summarised(state: State, parts: Parts, settings: Settings) -> dict[str, Any]:
    """Which epoch was kept and why, and how long everything took."""
    source = selecting_split(settings)
    chosen = len(getattr(parts.data, source)) > 0
    imitation = {"imitates": settings.imitate} if settings.imitate else {}
    seconds = [row["seconds"] for row in state.history]
    return imitation | {
        "data": {"name": parts.data.name, "task": parts.data.task, "fingerprints": parts.data.fingerprints},
        "selection": {
            "split": source if chosen else None,
            "rule": _rule(parts) if chosen else "last epoch (no validation split)",
            "score": state.best_score,
        },
        "best_epoch": state.best_epoch,
        "epochs": state.epoch,
        "seconds_per_epoch": sum(seconds) / len(seconds),
        "seconds_to_best_epoch": sum(seconds[: state.best_epoch]),
        "seconds_total": sum(seconds),
    }


def _rule(parts: Parts) -> str:
    if parts.data.task == "classification":
        return "highest accuracy, the earlier of equals"
    return "lowest squared error of the deterministic pass, the later of equals"
