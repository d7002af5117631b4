"""Runs that are killed three times at random moments, beside ones that are not: prints both as JSON.

Run as ``killed.py FOLDER SEED METHOD,LOSS...``. Children are forked, so that torch is imported once.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import lightning_fabric  # noqa: F401
import numpy as np
import sklearn.datasets  # noqa: F401
import torch
from safetensors import safe_open

import tailormix.experiments.building
import tailormix.training.loop  # noqa: F401
from tailormix.experiments import read
from tailormix.experiments.running import run_experiment
from tailormix.training import checkpoint

STEPS = 30  # of each of the two epochs


def settings(method: str, loss: str) -> list[str]:
    """Dropout, momentum, a schedule, a checkpoint after every step, and all that SK Mixup can set itself."""
    own = (
        ["method.tau_max=auto", "embeddings.every=2", "method.space=embedding"]
        if method == "sk-mixup"
        else []
    )
    chosen = ["epochs=2", "batch=10", f"method={method}", f"loss={loss}", "checkpoint_every=0"]
    return [*chosen, *own, "model.dropout=0.2", "optimiser.lr=0.003", "schedule=one-cycle", "accelerator=cpu"]


def train(method: str, loss: str, path: Path) -> None:
    """The run, from wherever it is."""
    run_experiment(read("moons", settings(method, loss)), path)


def start(method: str, loss: str, path: Path) -> int:
    """The run in a process of its own."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            train(method, loss, path)
            code = 0
        finally:
            os._exit(code)
    return child


def steps_done(path: Path) -> int:
    """Steps that the newest checkpoint knows of: the one before where a kill came between two renames."""
    for name in (checkpoint.LAST, checkpoint.PREVIOUS):
        try:
            with safe_open(path / "checkpoints" / name, framework="numpy") as file:
                facts = json.loads(file.metadata()["facts"])
        except FileNotFoundError:
            continue
        return int(facts["epoch"] * STEPS + facts["step"])
    return 0


def kill_after(steps: int, child: int, path: Path, pause: float) -> int:
    """Send SIGKILL a moment after the checkpoint reaches ``steps``; how the child ended."""
    while steps_done(path) < steps and os.waitpid(child, os.WNOHANG) == (0, 0):
        time.sleep(0.005)
    time.sleep(pause)
    os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


def outcome(path: Path) -> dict[str, Any]:
    """Everything that a run leaves behind but its timings."""
    result = json.loads((path / "result.json").read_text())
    rows = [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]
    arrays = {name: np.load(path / name) for name in ("predictions.npz", "validation.npz")}
    last = checkpoint.read(path / "checkpoints" / checkpoint.LAST)
    best = checkpoint.read(path / result["best weights"])
    return {
        "result": {key: value for key, value in result.items() if not key.startswith("seconds")},
        "metrics": [{key: value for key, value in row.items() if key != "seconds"} for row in rows],
        "predictions": {n: {k: a[k].tobytes().hex() for k in a.files} for n, a in arrays.items()},
        "last": checkpoint.checksum(last.tensors, ""),
        "best": checkpoint.checksum(best.tensors, ""),
    }


def main(folder: Path, seed: int, cases: list[str]) -> None:
    """Kill one run of each case three times, let it finish, and compare it with one that was left alone."""
    torch.set_num_threads(1)
    draw, found = random.Random(seed), {}
    for case in cases:
        method, loss = case.split(",")
        killed, alone = folder / case / "killed", folder / case / "alone"
        ends = [
            kill_after(
                draw.randrange(low, low + 10), start(method, loss, killed), killed, draw.random() / 100
            )
            for low in (1, 16, 31)
        ]
        stopped_at = steps_done(killed)
        train(method, loss, killed)
        train(method, loss, alone)
        outcomes = {"killed": outcome(killed), "alone": outcome(alone)}
        found[case] = {"ends": ends, "stopped_at": stopped_at, **outcomes}
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
