"""The runs of the demo: digits and moons, three methods, several seeds; none is trained twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailormix.training import run_folder

if TYPE_CHECKING:
    from pathlib import Path

#: a shipped experiment each, and its settings; 90 digits are so few that plain training is overconfident
PROBLEMS: dict[str, tuple[str, list[str]]] = {
    "digits": (
        "digits-mlp",
        [
            *("data.validation=0.2", "data.test=0.75", "data.augment=false", "model.hidden=[256, 256, 256]"),
            *("epochs=60", "batch=32", "optimiser=adam", "optimiser.lr=0.003", "schedule=constant"),
        ],
    ),
    "moons": ("moons", ["epochs=100", "data.noise=0.3"]),  # overlapping, or temperature finds no minimum
}
METHODS: dict[str, dict[str, list[str]]] = {
    "digits": {"erm": [], "mixup": ["alpha=1.0"], "sk-mixup": ["tau_max=1.0", "tau_std=0.25"]},
    "moons": {"erm": [], "mixup": ["alpha=5.0"], "sk-mixup": ["tau_max=5.0", "tau_std=0.2", "space=input"]},
}


@dataclass(frozen=True)
class Task:
    """One run: an experiment with settings and a seed, and its folder."""

    experiment: str
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
        run_experiment(read(self.experiment, self.settings, seed=self.seed), self.path)


def tasks(out: Path, seeds: int, epochs: int | None = None) -> list[Task]:
    """Every problem, method and seed; each combination of settings has its own folder."""
    from tailormix.experiments.experiment import fingerprint, read

    found = []
    for problem, (experiment, settings) in PROBLEMS.items():
        for method, options in METHODS[problem].items():
            chosen = [*settings, f"method={method}", *(f"method.{option}" for option in options)]
            chosen += [] if epochs is None else [f"epochs={epochs}"]
            name = f"{problem}-{method}-{fingerprint(read(experiment, chosen))}"
            found += [
                Task(experiment, tuple(chosen), seed, out / name / f"seed-{seed}") for seed in range(seeds)
            ]
    return found
