"""The runs of the demo: digits, three methods, several seeds; none is trained twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailormix.training import run_folder

if TYPE_CHECKING:
    from pathlib import Path

#: a shipped experiment and its settings; 90 digits are so few that plain training is overconfident
EXPERIMENT = "digits-mlp"
SETTINGS = (
    *("data.validation=0.2", "data.test=0.75", "data.augment=false", "model.hidden=[256, 256, 256]"),
    *("epochs=60", "batch=32", "optimiser=adam", "optimiser.lr=0.003", "schedule=constant"),
)
METHODS = {"erm": [], "mixup": ["alpha=1.0"], "sk-mixup": ["tau_max=1.0", "tau_std=0.25"]}


@dataclass(frozen=True)
class Task:
    """One run: settings of the experiment, a seed, and its folder."""

    settings: tuple[str, ...]
    seed: int
    path: Path

    @property
    def done(self) -> bool:
        """Whether the run is complete."""
        return run_folder.read_json(self.path / run_folder.RESULT) is not None

    def train(self) -> None:
        """Train and evaluate; an interrupted run is resumed."""
        import torch

        from tailormix.experiments.experiment import read
        from tailormix.experiments.running import run_experiment

        torch.set_num_threads(1)  # two runs at a time share two cores
        run_experiment(read(EXPERIMENT, self.settings, seed=self.seed), self.path)


def tasks(out: Path, seeds: int, epochs: int | None = None) -> list[Task]:
    """Every method and seed; each combination of settings has its own folder."""
    from tailormix.experiments.experiment import fingerprint, read

    found = []
    for method, options in METHODS.items():
        chosen = [*SETTINGS, f"method={method}", *(f"method.{option}" for option in options)]
        chosen += [] if epochs is None else [f"epochs={epochs}"]
        name = f"digits-{method}-{fingerprint(read(EXPERIMENT, chosen))}"
        found += [Task(tuple(chosen), seed, out / name / f"seed-{seed}") for seed in range(seeds)]
    return found
