"""A program for ``torchrun``: gradients with an injected plan, then an experiment, on every rank.

``ranks.py OUT METHOD,METHOD... SETTING...`` writes what each rank found to ``OUT/rank-N.json``.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import torch
from torch import nn

from tailormix import Plan, Step, build_method
from tailormix.experiments import building, read
from tailormix.experiments.running import run_experiment
from tailormix.training import Interrupted, Settings, make_fabric
from tailormix.training.seeding import Sampler, share

ROWS = 12


def train(folder: Path, settings: list[str]) -> dict[str, Any]:
    """The result, and which rows and random numbers each rank saw in the first step."""
    seen: list[Any] = []
    built = building.build

    def watched(experiment: Any, device: Any) -> Any:
        parts = built(experiment, device)
        loss = parts.model.forward

        def forward(x: torch.Tensor) -> torch.Tensor:
            if parts.model.training and torch.is_grad_enabled():
                seen.append([len(x), x.flatten().tolist()])
            return loss(x)

        parts.model.forward = forward
        return parts

    building.build = watched
    result = run_experiment(read("moons", settings), folder)
    building.build = built
    return {"result": result, "first": seen[0]}


def stopped_and_resumed(folder: Path, settings: list[str]) -> dict[str, Any]:
    """The result of a run whose first rank is asked to stop after five passes, and that is then taken up."""
    built, passes = building.build, 0

    def watched(experiment: Any, device: Any) -> Any:
        parts = built(experiment, device)
        inner = parts.model.forward

        def forward(x: torch.Tensor) -> torch.Tensor:
            nonlocal passes
            passes += 1
            if passes == 5 and os.environ["RANK"] == "0":
                os.kill(os.getpid(), signal.SIGTERM)
            return inner(x)

        parts.model.forward = forward
        return parts

    building.build = watched
    experiment, stopped = read("moons", settings), False
    try:
        run_experiment(experiment, folder)
    except Interrupted:
        stopped = True
    building.build = built
    return {"stopped": stopped, "resumed": run_experiment(experiment, folder)}


def several_passes(name: str) -> list[list[float]]:
    """Gradients of a step that runs the model more than once, with draws of its own on every rank."""
    fabric = make_fabric(Settings(accelerator="cpu"))
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    step = fabric.setup(Step(model, build_method(name, num_classes=3)))
    torch.manual_seed(fabric.global_rank)
    fabric.backward(step(torch.rand(6, 4), torch.arange(6) % 3))
    return [p.grad.flatten().tolist() for p in model.parameters() if p.grad is not None]


def gradients(name: str, total: int = ROWS, shards: int = 2) -> list[list[float]]:
    """One backward pass of a global batch whose plan pairs within the shards; no BatchNorm, no dropout."""
    fabric = make_fabric(Settings(accelerator="cpu"))
    draw = torch.Generator().manual_seed(0)
    x, y = torch.rand(total, 4, generator=draw), torch.arange(total) % 3
    lam = torch.rand(total, generator=draw)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    step = fabric.setup(Step(model, build_method(name, num_classes=3)))
    rows = share(torch.arange(total), fabric.global_rank, fabric.world_size)
    partner = torch.cat([share(torch.arange(total), rank, shards).roll(1) for rank in range(shards)])
    plan = Plan(partner[rows] - rows[0], lam[rows])  # places within this rank's rows
    group = torch.distributed.group.WORLD if fabric.world_size > 1 else None
    loss = step(x[rows], y[rows], plan=plan, group=group)
    sampler = Sampler(total, total, 0, rank=fabric.global_rank, ranks=fabric.world_size)
    fabric.backward(loss * sampler.weight(0))
    return [p.grad.flatten().tolist() for p in model.parameters() if p.grad is not None]


def main(out: Path, methods: list[str], settings: list[str]) -> None:
    """Write this rank's findings."""
    torch.set_num_threads(1)
    found = {
        "gradients": {name: gradients(name) for name in methods},
        "several passes": {name: several_passes(name) for name in ("rankmixup", "mit-l", "regmixup")},
        **train(out / "run", settings),
        **stopped_and_resumed(out / "stopped", settings),
    }
    (out / f"rank-{os.environ['RANK']}.json").write_text(json.dumps(found))
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2].split(","), sys.argv[3:])
