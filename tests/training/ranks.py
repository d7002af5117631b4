"""A program for ``torchrun``: gradients with an injected plan, then experiments, on every rank.

``ranks.py OUT`` writes what each rank found to ``OUT/rank-N.json``.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from tailormix import Plan, Step, build_method
from tailormix.experiments import building, read
from tailormix.experiments.running import run_experiment
from tailormix.training import Interrupted, Settings, make_fabric
from tailormix.training.seeding import Sampler, share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROWS, RANKS = 256, 3
METHODS = ("erm", "mixup", "regmixup", "rankmixup")
SEVERAL_PASSES = ("rankmixup", "mit-l", "regmixup")
PLAIN = [f"batch={ROWS}", "epochs=1", "method=erm", "optimiser=sgd", "optimiser.lr=1.0", "accelerator=cpu"]
MIXED = [f"batch={ROWS}", "epochs=2", "method=sk-mixup", "accelerator=cpu", "checkpoint_every=0"]
BANK = [*MIXED, "epochs=1", "method.tau_max=auto", "method.space=embedding", "embeddings.every=1"]


@contextlib.contextmanager
def watched(hear: Callable[[nn.Module, torch.Tensor], None]) -> Iterator[None]:
    """Models that are built inside tell of every pass."""
    built = building.build

    def build(*arguments: Any) -> Any:
        setup = built(*arguments)
        setup.model.register_forward_pre_hook(lambda model, inputs: hear(model, inputs[0]))
        return setup

    building.build = build
    try:
        yield
    finally:
        building.build = built


def trained(folder: Path) -> dict[str, Any]:
    """A result of plain SGD, and which rows this rank saw in the first step."""
    seen: list[list[Any]] = []

    def hear(model: nn.Module, x: torch.Tensor) -> None:
        if model.training and torch.is_grad_enabled():
            seen.append(x.tolist())

    with watched(hear):
        result = run_experiment(read("moons", PLAIN), folder)
    return {"result": result, "first": seen[0]}


def stopped(folder: Path) -> bool:
    """Whether a run ends when its first rank is asked to stop after five passes."""
    passes = [0]

    def hear(*_: Any) -> None:
        passes[0] += 1
        if passes[0] == 5 and os.environ["RANK"] == "0":
            os.kill(os.getpid(), signal.SIGTERM)

    with watched(hear):
        try:
            run_experiment(read("moons", MIXED), folder)
        except Interrupted:
            return True
    return False


def prepared(name: str) -> tuple[Any, Any, nn.Module]:
    """A step without BatchNorm and dropout, from the same weights on every rank."""
    fabric = make_fabric(Settings(accelerator="cpu"))
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    return fabric, fabric.setup(Step(model, build_method(name, num_classes=3))), model


def flat(model: nn.Module) -> list[float]:
    return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None]).tolist()


def several_passes(name: str) -> list[float]:
    """Gradients of a step that runs the model more than once, with draws of its own on every rank."""
    fabric, step, model = prepared(name)
    torch.manual_seed(fabric.global_rank)
    fabric.backward(step(torch.rand(6, 4), torch.arange(6) % 3))
    return flat(model)


def gradients(name: str) -> list[float]:
    """One backward pass of a global batch whose plan pairs within the shards of the ranks."""
    fabric, step, model = prepared(name)
    draw = torch.Generator().manual_seed(0)
    x, y = torch.rand(ROWS, 4, generator=draw), torch.arange(ROWS) % 3
    lam = torch.rand(ROWS, generator=draw)
    rows = share(torch.arange(ROWS), fabric.global_rank, fabric.world_size)
    partner = torch.cat([share(torch.arange(ROWS), rank, RANKS).roll(1) for rank in range(RANKS)])
    plan = Plan(partner[rows] - rows[0], lam[rows])  # places within this rank's rows
    group = torch.distributed.group.WORLD if fabric.world_size > 1 else None
    loss = step(x[rows], y[rows], plan=plan, group=group)
    sampler = Sampler(ROWS, ROWS, 0, rank=fabric.global_rank, ranks=fabric.world_size)
    fabric.backward(loss * sampler.weight(0))
    return flat(model)


def main(out: Path) -> None:
    """Write this rank's findings."""
    torch.set_num_threads(1)
    found = {
        "gradients": {name: gradients(name) for name in METHODS},
        "several passes": {name: several_passes(name) for name in SEVERAL_PASSES},
        **trained(out / "plain"),
        "whole": run_experiment(read("moons", MIXED), out / "whole"),
        "bank": run_experiment(read("moons", BANK), out / "bank"),
        "stopped": [stopped(out / name) for name in ("stopped", "left")],
        "resumed": run_experiment(read("moons", MIXED), out / "stopped"),
    }
    (out / f"rank-{os.environ['RANK']}.json").write_text(json.dumps(found))
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
