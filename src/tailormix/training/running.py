"""From parts to a finished run folder: train, judge, and write the result last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from . import folder, packing
from .judging import judge
from .loop import fit
from .saving import best_file_of
from .seeds import Stream, derive
from .validating import selecting_split

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from lightning_fabric import Fabric

    from .parts import Parts
    from .reporting import Reporter
    from .settings import Settings
    from .state import State


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
    if done := folder.read_json(path / folder.RESULT):
        return done
    devices = [fabric.device] if fabric.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.default_generator.manual_seed(derive(settings.seed, Stream.WEIGHTS))
        parts = make()
        state = fit(fabric, parts, settings, path, report)
        packing.load_module(parts.model, state.best_weights)
        measured = judge(parts, fabric, settings, path)
    result = {**facts, **summarised(state, parts, settings), **measured}
    result["best weights"] = best_file_of(path, state.best_epoch).relative_to(path).as_posix()
    if fabric.is_global_zero:
        folder.write_json(path / folder.RESULT, result)
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
