"""Speed of training: an epoch of ResNet-8 by method, the input pipeline's share, Airfoil, and start-up.

    OMP_NUM_THREADS=1 python -m benchmarks.training

Images are those of CIFAR-10 where it lies here, and otherwise made up in its shape: speed does not depend on
what they show. Methods take turns, and the shortest of several times counts, so that noise hits all alike.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from tailormix.data import DataSplits, data_root, load
from tailormix.data.augment import ImageTransform, normalisation
from tailormix.data.splits import MemorySplit
from tailormix.methods import build_method
from tailormix.models import build
from tailormix.training import Choice, Parts, Settings, make_fabric
from tailormix.training.loop import set_up, train_epoch
from tailormix.training.progress import silent

if TYPE_CHECKING:
    from collections.abc import Callable

    from tailormix.training.state import Run

IMAGES, REPEATS, BATCH = 10_000, 3, 128
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "erm": ("erm", {}),
    "mixup": ("mixup", {}),
    "sk-mixup, embedding distance": ("sk-mixup", {}),
    "sk-mixup, input distance": ("sk-mixup", {"space": "input"}),
}
#: largest times an epoch may take, as multiples of Mixup's
LIMITS = {"sk-mixup, embedding distance": 1.35, "sk-mixup, input distance": 1.05}


def images(count: int) -> DataSplits:
    """Images of CIFAR-10, augmented as published, or made-up ones of that shape."""
    if (data_root() / "cifar-10-batches-bin").is_dir():
        train = load("cifar10").train
        assert isinstance(train, MemorySplit)
        part = MemorySplit(train.inputs[:count], train.targets[:count], train.ids[:count], train.transform)
        return DataSplits("cifar10", "classification", part, part, part, 10)
    draw = torch.Generator().manual_seed(0)
    scale, shift = normalisation([0.5] * 3, [0.25] * 3)
    pixels = torch.randint(256, (count, 3, 32, 32), dtype=torch.uint8, generator=draw)
    part = MemorySplit(
        pixels, torch.arange(count) % 10, torch.arange(count), ImageTransform(scale, shift, 4, flip=True)
    )
    return DataSplits("made", "classification", part, part, part, 10)


def prepared(name: str, options: dict[str, Any], splits: DataSplits) -> Run:
    """A run that is ready for its first epoch."""
    settings = Settings(
        epochs=10**6, batch=BATCH, optimiser=Choice("sgd", {"lr": 1e-3}), checkpoint_every=1e9
    )
    torch.manual_seed(0)
    parts = Parts(
        splits,
        build("resnet8", num_classes=10, in_channels=3),
        build_method(name, num_classes=10, **options),
    )
    return set_up(make_fabric(settings), parts, settings, Path(tempfile.gettempdir()), silent)


def epoch(run: Run) -> None:
    """One epoch without validation."""
    train_epoch(run, threading.Event())
    run.state.epoch, run.state.step, run.state.loss, run.state.seconds = run.state.epoch + 1, 0, 0.0, 0.0


def pipeline(run: Run) -> None:
    """The batches of an epoch, and nothing else."""
    for _ in run.parts.data.train.batches(run.sampler.plan(0)):
        pass


def seconds(task: Callable[[], object]) -> float:
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


def methods(count: int, repeats: int) -> list[dict[str, Any]]:
    """Seconds an epoch by method, beside Mixup, and the share of making the batches."""
    splits = images(count)
    runs = {label: prepared(name, options, splits) for label, (name, options) in METHODS.items()}
    times = {label: float("inf") for label in runs}
    for _ in range(repeats + 1):  # the first turn warms up, and is hardly ever the shortest
        for label, run in runs.items():
            times[label] = min(times[label], seconds(lambda run=run: epoch(run)))  # type: ignore[misc]
    batches = min(seconds(lambda: pipeline(runs["erm"])) for _ in range(repeats))
    rows: list[dict[str, Any]] = [
        {
            "what": f"epoch of ResNet-8, {count} images: {label}",
            "seconds": time_,
            "ratio": time_ / times["mixup"],
            "limit": LIMITS.get(label),
        }
        for label, time_ in times.items()
    ]
    share = {"what": "input pipeline's share of an epoch (erm)", "seconds": batches}
    return [*rows, {**share, "ratio": batches / times["erm"], "limit": 0.05}]


def program(
    *arguments: str, of: tuple[str, ...] = ("-c", "from tailormix.cli.main import main; main()")
) -> float:
    """Seconds of a whole process, start-up included, on one thread."""
    with_one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *of, *arguments]
    return seconds(lambda: subprocess.run(command, env=with_one_thread, check=True, capture_output=True))


def programs(quick: bool) -> list[dict[str, Any]]:
    """Start-up of the command line, and Airfoil from start to result where its data lies here."""
    rows = [
        {"what": "tailormix --help", "seconds": program("--help"), "limit": 1.0},
        {"what": "tailormix list methods", "seconds": program("list", "methods"), "limit": 1.0},
    ]
    if (data_root() / "airfoil").is_dir():
        epochs, turns = (5, 1) if quick else (100, REPEATS)
        ours, published = (min(times) for times in zip(*(airfoil(epochs) for _ in range(turns)), strict=True))
        what = f"Airfoil, SK Mixup, {epochs} epochs, one thread"
        rows.append({"what": f"{what}, the published way", "seconds": published, "limit": None})
        limit = None if quick else 0.5
        rows.append({"what": what, "seconds": ours, "ratio": ours / published, "limit": limit})
    return rows


def airfoil(epochs: int) -> tuple[float, float]:
    """Seconds from start to result, and those of the same training as it was published."""
    with tempfile.TemporaryDirectory() as out:
        ours = program("train", "airfoil", "--set", f"epochs={epochs}", "--out", out)
    return ours, program(str(data_root()), str(epochs), of=("-m", "benchmarks.published_airfoil"))


def run(quick: bool) -> list[dict[str, Any]]:
    """All measurements; ``quick`` takes a tenth of the images, and few epochs."""
    torch.set_num_threads(1)
    return [*methods(IMAGES // 10 if quick else IMAGES, 1 if quick else REPEATS), *programs(quick)]


if __name__ == "__main__":
    for row in run(quick="--quick" in sys.argv):
        print(row)
