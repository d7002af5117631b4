"""An experiment: a frozen, checked record of data, model, method, loss and settings. Free of torch."""

from __future__ import annotations

import dataclasses
import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tailormix import checks
from tailormix.data.catalogue import DATASETS
from tailormix.losses.catalogue import LOSSES
from tailormix.methods import METHODS
from tailormix.models.catalogue import MODELS, TIMM_PREFIX
from tailormix.training.settings import Choice, Settings, known_options

if TYPE_CHECKING:
    from collections.abc import Mapping

#: losses of real targets; ``denormalised`` multiplies by the data's scale first, as the released code does
REGRESSION_LOSSES = {"mse": "squared error", "mse-denormalised": "squared error in the published units"}
DEFAULT_LOSS = "default"
DEFAULT_NAMES = {
    "method": "erm",
    "loss": DEFAULT_LOSS,
    "optimiser": Settings().optimiser.name,
    "schedule": Settings().schedule.name,
}
PARTS = ("data", "model", "method", "loss")
SECTIONS = (*PARTS, "optimiser", "schedule")
SETTINGS = tuple(f.name for f in dataclasses.fields(Settings))
KEYS = ("summary", *PARTS, *SETTINGS)
#: settings that no file names
DEFAULTS = {
    name: value.flat() if isinstance(value, Choice) else value
    for name, value in ((name, getattr(Settings(), name)) for name in SETTINGS)
}
#: keys that change how a run is carried out, but not what it computes
CONDUCT = ("summary", "workers", "checkpoint_every", "also")


@dataclass(frozen=True)
class Experiment:
    """Data, model, method and loss by name, and how to train.

    >>> moons = Experiment(data=Choice("moons"), model=Choice("mlp"))
    >>> moons.method.name, moons.training.epochs
    ('erm', 10)
    >>> Experiment(data=Choice("moon"), model=Choice("mlp"))
    Traceback (most recent call last):
    ValueError: unknown data 'moon'; did you mean 'moons'? Known: moons, ...
    """

    data: Choice
    model: Choice
    method: Choice = field(default_factory=lambda: Choice(DEFAULT_NAMES["method"]))
    loss: Choice = field(default_factory=lambda: Choice(DEFAULT_NAMES["loss"]))
    training: Settings = field(default_factory=Settings)
    summary: str = ""

    def __post_init__(self) -> None:
        checks.known("data", self.data.name, DATASETS)
        if not str(self.model.name).startswith(TIMM_PREFIX):
            checks.known("model", self.model.name, MODELS)
        for name in self.training.also:
            checks.known("data set of also", name, DATASETS)
        known_options("method", self.method, {name: settings_of(name) for name in METHODS})
        known_options("loss", self.loss, _loss_options())

    def flat(self) -> dict[str, Any]:
        """All settings with the keys of a file; a file of them is the same experiment again."""
        training = {name: getattr(self.training, name) for name in SETTINGS}
        parts = {name: getattr(self, name) for name in PARTS}
        values = {"summary": self.summary, **parts, **training}
        return {k: v.flat() if isinstance(v, Choice) else v for k, v in values.items()}


def from_flat(values: Mapping[str, Any]) -> Experiment:
    """The experiment of a file's keys; an unknown key fails with the closest match.

    >>> from_flat({"data": {"name": "moons"}, "model": {"name": "mlp"}, "epoch": 3})
    Traceback (most recent call last):
    ValueError: unknown key of the experiment 'epoch'; did you mean 'epochs'? Known: summary, ...
    """
    for key in values:
        checks.known("key of the experiment", key, KEYS)
    for key in ("data", "model"):
        if key not in values:
            raise ValueError(f"an experiment needs {key}, got only {', '.join(values) or 'nothing'}")
    read: dict[str, Any] = {
        key: _choice(key, value) if key in SECTIONS else value for key, value in values.items()
    }
    training = Settings(**{key: value for key, value in read.items() if key in SETTINGS})
    rest = {key: value for key, value in read.items() if key not in SETTINGS}
    return Experiment(training=training, **rest)


def _choice(key: str, section: Mapping[str, Any]) -> Choice:
    if "name" not in section:
        raise ValueError(f"section {key} needs a name, got only {', '.join(section) or 'nothing'}")
    return Choice(section["name"], {name: value for name, value in section.items() if name != "name"})


def settings_of(method: str) -> Mapping[str, Any]:
    """The settings that a method takes, by name."""
    return inspect.signature(METHODS[method].build).parameters


def _loss_options() -> dict[str, Mapping[str, Any]]:
    plain: dict[str, Mapping[str, Any]] = {name: {} for name in (DEFAULT_LOSS, *REGRESSION_LOSSES)}
    return plain | {name: loss.defaults for name, loss in LOSSES.items()}
