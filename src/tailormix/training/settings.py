"""Settings of a training run: frozen and checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tailormix import checks
from tailormix.calibration.predictions import known_imitation
from tailormix.training.optimisation import OPTIMISERS, SCHEDULES

if TYPE_CHECKING:
    from collections.abc import Mapping


PRECISIONS = ("32-true", "16-mixed", "bf16-mixed")
ACCELERATORS = ("auto", "cpu", "cuda", "mps")
SELECTIONS = ("best", "last")


@dataclass(frozen=True)
class Choice:
    """One entry of a registry, by its command-line name, with its options.

    >>> Choice("sgd", {"lr": 0.1}).flat()
    {'name': 'sgd', 'lr': 0.1}
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def flat(self) -> dict[str, Any]:
        """Name and options side by side, as in a file."""
        return {"name": self.name, **self.options}


@dataclass(frozen=True)
class Settings:
    """How a model is trained.

    Attributes:
        epochs, batch: passes over the training rows, and rows per step over all ranks together.
        seed: of weights, order, augmentation, mixing and dropout.
        optimiser, schedule: by name, with their options.
        embeddings: ``every`` measures those of all training rows once in so many epochs, and steps look them
            up (:class:`tailormix.EmbeddingBank`); 0 measures those of the batch in every step, as the paper.
        select: the epoch whose weights count: the ``last``, or the ``best`` on the validation split, which is
            the most accurate (of equally accurate ones that with the lowest NLL), or has the lowest error.
        clip: largest norm of the gradient; 0 for no limit.
        precision: as Lightning Fabric names it.
        accelerator: ``auto``, ``cpu``, ``cuda`` or ``mps``.
        drop_last: leave out the last, smaller batch of an epoch.
        mc_samples: passes with dropout behind a predicted standard deviation (regression).
        workers: processes that decode images, for data sets too large for memory.
        compile: compile the model.
        channels_last: keep images with their channels innermost; convolutions on CPUs gain most by it.
            (With fewer than 8 channels torch 2.13 itself may crash there.)
        checkpoint_every: seconds between checkpoints; 0 for one after every step.
        imitate: ``released-protocol`` selects weights and fits the temperature on the test split, as the
            released code did, and marks the result; empty for the clean protocol.
        also: test-only data sets that the finished model is evaluated on besides its own.

    >>> Settings(epochs=0)
    Traceback (most recent call last):
    ValueError: epochs must be >= 1, got 0

    """

    epochs: int = 10
    batch: int = 128
    seed: int = 0
    optimiser: Choice = field(default_factory=lambda: Choice("sgd"))
    schedule: Choice = field(default_factory=lambda: Choice("constant"))
    embeddings: Choice = field(default_factory=lambda: Choice("measured"))
    select: str = "best"
    clip: float = 0.0
    precision: str = "32-true"
    accelerator: str = "auto"
    drop_last: bool = False
    mc_samples: int = 50
    workers: int = 0
    compile: bool = False
    channels_last: bool = False
    checkpoint_every: float = 30.0
    imitate: str = ""
    also: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "mc_samples"):
            checks.integer(name, getattr(self, name), at_least=1)
        for name in ("seed", "workers"):
            checks.integer(name, getattr(self, name), at_least=0)
        if self.seed >= 2**63:
            raise ValueError(f"seed must be < 2**63, got {self.seed}")
        for name in ("clip", "checkpoint_every"):
            checks.non_negative(name, getattr(self, name))
        for name in ("drop_last", "compile", "channels_last"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} must be true or false, got {getattr(self, name)!r}")
        if self.imitate:
            known_imitation(self.imitate)
        object.__setattr__(self, "also", checks.names("also", self.also))
        checks.known("select", self.select, SELECTIONS)
        checks.known("precision", self.precision, PRECISIONS)
        checks.known("accelerator", self.accelerator, ACCELERATORS)
        known_options("optimiser", self.optimiser, {n: o.defaults for n, o in OPTIMISERS.items()})
        known_options("embeddings", self.embeddings, {"measured": {"every": 0}})
        checks.integer("embeddings.every", self.embeddings.options.get("every", 0), at_least=0)
        known_options("schedule", self.schedule, {n: s.defaults for n, s in SCHEDULES.items()})


def known_options(family: str, choice: Choice, registry: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise if the name is not in the registry, or if the named entry has no such option.

    >>> known_options("optimiser", Choice("sgd", {"lrr": 1}), {"sgd": {"lr": 0.1}})
    Traceback (most recent call last):
    ValueError: unknown option of optimiser sgd 'lrr'; did you mean 'lr'? Known: lr
    """
    options = registry[checks.known(family, choice.name, registry)]
    for key in choice.options:
        checks.known(f"option of {family} {choice.name}", key, options)
