"""Shared by the tests of runs: a small run, and what it leaves behind."""

import json
from pathlib import Path
from typing import Any

from tailormix.experiments import read
from tailormix.experiments.running import run_experiment
from tailormix.training import run_folder

SMALL = ["epochs=3", "batch=100", "accelerator=cpu"]


def train(path: Path, *settings: str, name: str = "moons", **options: Any) -> dict[str, Any]:
    return run_experiment(read(name, [*SMALL, *settings]), path, **options)


def listener(hear: Any) -> Any:
    """A reporter that hands each row to ``hear``."""

    def report(row: dict[str, Any], epochs: int) -> None:
        hear(row)

    return report


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (path / run_folder.METRICS).read_text().splitlines()]


def without_times(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if not key.startswith("seconds")}
