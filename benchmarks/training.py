"""``python -m benchmarks training``: whole runs of the command line, each in a process of its own.

Start-up is part of every time. Runs use one thread.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

from benchmarks.harness import Record, race, record
from tailormix.data import data_root

if TYPE_CHECKING:
    from benchmarks.harness import Contender

METHODS = ("erm", "mixup", "sk-mixup", "regmixup", "rankmixup")


def run(quick: bool) -> list[Record]:
    """Start-up, digits by method, and Airfoil where its data are here."""
    seconds = 0.0 if quick else 1.0
    here = (data_root() / "airfoil").is_dir()
    rows = [*start_up(seconds), *digits(1 if quick else 10, seconds)]
    return [*rows, *airfoil(5 if quick else 100, seconds)] if here else rows


def start_up(seconds: float) -> list[Record]:
    """The shortest commands, against the import of torch."""
    peer = "import torch"
    contenders: dict[str, Contender] = {
        "tailormix --help": lambda: _tailormix("--help"),
        "tailormix list methods": lambda: _tailormix("list", "methods"),
        peer: lambda: _python("-c", "import torch"),
    }
    timings = race(contenders, seconds=seconds, calls=1)
    return [record("start-up", "", name, peer, timings) for name in list(contenders)[:-1]]


def digits(epochs: int, seconds: float) -> list[Record]:
    """``tailormix train digits-resnet8`` by method, against Mixup."""
    contenders = {name: _training("digits-resnet8", epochs, f"method={name}") for name in METHODS}
    timings = race(contenders, seconds=seconds, calls=1)
    size = f"digits, ResNet-8, {epochs} epochs"
    return [record("training", size, name, "mixup", timings) for name in METHODS if name != "mixup"]


def airfoil(epochs: int, seconds: float) -> list[Record]:
    """``tailormix train airfoil`` against the same training written as it was published."""
    ours, peer = "tailormix train airfoil", "as it was published"
    contenders: dict[str, Contender] = {
        ours: _training("airfoil", epochs),
        peer: lambda: _python("-m", "benchmarks.published_airfoil", str(data_root()), str(epochs)),
    }
    timings = race(contenders, seconds=seconds, calls=1)
    return [record("training", f"Airfoil, FCN3, {epochs} epochs", ours, peer, timings)]


def _training(experiment: str, epochs: int, *settings: str) -> Contender:
    """A run into a fresh folder: a finished one would not be trained again."""

    def train() -> None:
        with tempfile.TemporaryDirectory() as out:
            options = [word for each in (f"epochs={epochs}", *settings) for word in ("--set", each)]
            _tailormix("train", experiment, *options, "--out", out)

    return train


def _tailormix(*arguments: str) -> None:
    _python("-c", "from tailormix.cli.main import main; main()", *arguments)


def _python(*arguments: str) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, *arguments], env=environment, check=True, capture_output=True)
