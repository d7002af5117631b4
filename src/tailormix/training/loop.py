"""The training loop: from a set-up to ``result.json``, for every method, task and device."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import torch

from tailormix.training import checkpoint, evaluating, run_folder
from tailormix.training.seeding import Stream, derive
from tailormix.training.signals import stop_on_signal
from tailormix.training.trainer import NonFiniteLoss, Trainer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from lightning_fabric import Fabric

    from tailormix.training.progress import Reporter
    from tailormix.training.settings import Settings
    from tailormix.training.trainer import Setup, State


def make_fabric(settings: Settings) -> Fabric:
    """One device, or every process that ``torchrun`` started, under DDP (gloo on CPUs, nccl on GPUs)."""
    from lightning_fabric import Fabric

    machine: dict[str, Any] = {"accelerator": settings.accelerator, "precision": settings.precision}
    if "TORCHELASTIC_RUN_ID" not in os.environ:
        return Fabric(devices=1, **machine)
    per_node, total = int(os.environ["LOCAL_WORLD_SIZE"]), int(os.environ["WORLD_SIZE"])
    fabric = Fabric(devices=per_node, num_nodes=total // per_node, strategy="ddp", **machine)
    fabric.launch()
    return fabric


def run(
    fabric: Fabric,
    make: Callable[[], Setup],
    settings: Settings,
    path: Path,
    *,
    report: Reporter,
    facts: Mapping[str, Any],
) -> dict[str, Any]:
    """Train what ``make`` builds and write ``result.json``; a folder that has one is not trained again.

    ``make`` is called with torch's generator at the seed of the weights; its state is restored at the end.
    ``facts`` go into the result as they are.
    """
    if done := run_folder.read_json(path / run_folder.RESULT):
        return done
    devices = [fabric.device] if fabric.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        trainer = begin(fabric, make, settings, path, report)
        with stop_on_signal() as heard:
            while trainer.state.epoch < settings.epochs:
                for _ in trainer.steps():
                    trainer.save_if_due(heard.signal)
                trainer.finish_epoch()
        trainer.save()
        return conclude(trainer, facts)


def begin(
    fabric: Fabric, make: Callable[[], Setup], settings: Settings, path: Path, report: Reporter
) -> Trainer:
    """The trainer of what ``make`` builds, at the newest checkpoint in ``path`` if there is one."""
    torch.default_generator.manual_seed(derive(settings.seed, Stream.WEIGHTS))
    setup = make()
    trainer = Trainer(fabric, setup, settings, path, report)
    trainer.checkpoints.mkdir(exist_ok=True)
    trainer.resume()
    state_size = sum(tensor.nbytes for tensor in setup.model.state_dict().values())
    run_folder.need_room(path, 3 * state_size)  # the weights, and twice as much for the optimiser
    if fabric.is_global_zero:
        checkpoint.remove_orphans(trainer.checkpoints)
        run_folder.rewrite_metrics(path, trainer.state.history)
    return trainer


def conclude(trainer: Trainer, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Evaluate the best weights, write ``result.json`` and return what is in it."""
    setup, settings, state, path = trainer.setup, trainer.settings, trainer.state, trainer.path
    best = checkpoint.best_file(path / run_folder.CHECKPOINTS, state.best_epoch)
    checkpoint.load_module(setup.model, state.best_weights)
    try:
        metrics = evaluating.evaluate(setup, trainer.fabric, settings, path)
    except evaluating.NonFiniteOutputs as error:
        weights = f"the best weights, of epoch {state.best_epoch}, {best}"
        raise NonFiniteLoss(f"{error} with {weights}") from error
    result = {
        **facts,
        **summarise(state, setup, settings),
        **metrics,
        "best weights": best.relative_to(path).as_posix(),
    }
    if trainer.fabric.is_global_zero:
        run_folder.write_json(path / run_folder.RESULT, result)
    trainer.fabric.barrier()
    return result


def summarise(state: State, setup: Setup, settings: Settings) -> dict[str, Any]:
    """Which epoch was selected and why, and how long everything took."""
    source = evaluating.selecting_split(settings)
    has_rows = len(getattr(setup.data, source)) > 0
    selected = has_rows and settings.select == "best"
    rule = "last epoch" if has_rows else "last epoch (no validation split)"
    if selected:
        rule = (
            "highest accuracy, the earlier of equals"
            if setup.data.task == "classification"
            else "lowest squared error of the deterministic pass, the later of equals"
        )
    imitation = {"imitates": settings.imitate} if settings.imitate else {}
    notes = list(setup.data.notes)
    seconds = [row["seconds"] for row in state.history]
    steered = {} if setup.auto is None else {"strength": {"last": state.strength, "steered by": source}}
    return imitation | {
        **steered,
        "data": {
            "name": setup.data.name,
            "task": setup.data.task,
            "fingerprints": setup.data.fingerprints,
            **({"notes": notes} if notes else {}),
        },
        "selection": {
            "split": source if selected else None,
            "rule": rule,
            "score": state.best_score,
        },
        "best_epoch": state.best_epoch,
        "epochs": state.epoch,
        "seconds_per_epoch": sum(seconds) / len(seconds),
        "seconds_to_best_epoch": sum(seconds[: state.best_epoch]),
        "seconds_total": sum(seconds),
    }
