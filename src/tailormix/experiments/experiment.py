"""An experiment: its record, and how it is read from files and options and written back."""

from __future__ import annotations

import dataclasses
import inspect
import json
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailormix import checks
from tailormix.atomic import write_atomically
from tailormix.data.registry import DATASETS
from tailormix.experiments.registry import EXPERIMENTS
from tailormix.losses.registry import LOSSES
from tailormix.methods import METHODS
from tailormix.models.registry import MODELS, TIMM_PREFIX
from tailormix.training.settings import Choice, Settings, known_options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def lay_over(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    """``upper`` wins. A section that names something else starts afresh: old options are not its own.

    >>> lower = {"method": {"name": "sk-mixup", "tau_std": 0.5}, "epochs": 2}
    >>> lay_over(lower, {"method": {"tau_max": 2.0}})["method"]
    {'name': 'sk-mixup', 'tau_std': 0.5, 'tau_max': 2.0}
    >>> lay_over(lower, {"method": "mixup"})["method"]
    {'name': 'mixup'}
    """
    merged = {key: _section(key, value) if key in SECTIONS else value for key, value in lower.items()}
    for key, value in upper.items():
        if key in SECTIONS:
            section, old = _section(key, value), merged.get(key, {})
            other = section.get("name", old.get("name")) != old.get("name")
            merged[key] = section if other else {**old, **section}
        else:
            merged[key] = value
    return merged


def _section(key: str, value: Any) -> dict[str, Any]:
    """A section as a dictionary; a plain text is its name."""
    if isinstance(value, str):
        return {"name": value}
    if not isinstance(value, dict):
        raise TypeError(f"{key} must be a name or a section, got {type(value).__name__}: {value!r}")
    return value


def from_command_line(settings: Sequence[str]) -> dict[str, Any]:
    """The layer that ``--set key=value`` makes, later ones winning.

    >>> from_command_line(["epochs=3", "method.tau_std=0.5", "model.hidden=[8, 8]", "method=sk-mixup"])
    {'epochs': 3, 'method': {'tau_std': 0.5, 'name': 'sk-mixup'}, 'model': {'hidden': [8, 8]}}
    """
    layer: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise ValueError(f"--set takes key=value, got {setting!r}")
        _put(layer, key.strip(), parsed(text.strip()))
    return layer


def _put(layer: dict[str, Any], key: str, value: Any) -> None:
    top, dot, inner = key.partition(".")
    checks.known("key of the experiment", top, KEYS)
    if dot and top not in SECTIONS:
        raise ValueError(f"{top} has no parts, got the key {key!r}")
    if top not in SECTIONS:
        layer[top] = value
    else:
        new = {inner: value} if dot else _section(top, value)
        layer[top] = {**layer.get(top, {}), **new}


def parsed(text: str) -> Any:
    """A value as TOML reads it; what is no TOML is text, so that names need no quotes.

    >>> parsed("0.5"), parsed("[1, 2]"), parsed("true"), parsed("sk-mixup")
    (0.5, [1, 2], True, 'sk-mixup')
    """
    try:
        found = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return found["value"] if list(found) == ["value"] else text


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


def read(experiment: str | Path, settings: Sequence[str] = (), *, seed: int | None = None) -> Experiment:
    """A shipped experiment, or the one in a ``.toml`` file, with ``key=value`` settings on top.

    >>> read("moons", ["epochs=3", "method=mixup"]).method.name
    'mixup'
    >>> read("moon")
    Traceback (most recent call last):
    ValueError: unknown experiment 'moon'; did you mean 'moons'? Known: moons, ...
    """
    values = lay_over(lay_over(DEFAULT_NAMES, values_of(experiment)), from_command_line(settings))
    return from_flat(values if seed is None else {**values, "seed": seed})


def values_of(experiment: str | Path) -> dict[str, Any]:
    """The keys of a shipped experiment or of a file."""
    path = Path(experiment)
    if path.suffix != ".toml":
        return EXPERIMENTS[checks.known("experiment", str(experiment), EXPERIMENTS)].values
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ValueError(f"there is no experiment file {path}") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ValueError(f"cannot read the experiment file {path}: {error}") from error


def name_of(experiment: str | Path) -> str:
    """The experiment's name in folders and titles: a file's is its stem."""
    return Path(experiment).stem if Path(experiment).suffix == ".toml" else str(experiment)


def to_toml(experiment: Experiment) -> str:
    """The experiment's keys, those at their defaults left out; read again it is the same experiment.

    >>> from tailormix.experiments import read
    >>> print(to_toml(read("moons")))
    summary = "..."
    epochs = ...
    """
    values = {key: value for key, value in experiment.flat().items() if value != DEFAULTS.get(key)}
    plain = {key: value for key, value in values.items() if not isinstance(value, dict)}
    sections = {key: value for key, value in values.items() if isinstance(value, dict)}
    blocks = ["\n".join(f"{key} = {_value(value)}" for key, value in plain.items())]
    for name, section in sections.items():
        blocks.append("\n".join([f"[{name}]", *(f"{key} = {_value(v)}" for key, v in section.items())]))
    return "\n\n".join(block for block in blocks if block) + "\n"


def write_toml(experiment: Experiment, path: Path) -> Path:
    """Write the file, atomically."""
    return write_atomically(path, to_toml(experiment))


def _value(value: Any) -> str:
    """One value in TOML.

    >>> _value(1e-4), _value(True), _value("a"), _value((1, 2)), _value(float("inf"))
    ('0.0001', 'true', '"a"', '[1, 2]', 'inf')
    """
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(one) for one in value)}]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_value(one)}" for key, one in value.items()) + " }"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False)
