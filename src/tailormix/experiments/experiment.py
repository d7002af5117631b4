"""An experiment: data, model, method, loss and training settings, as a TOML file and as a frozen record."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import json
import tomllib
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailormix import checks
from tailormix.atomic import write_atomically
from tailormix.data.registry import DATASETS
from tailormix.experiments.plugins import is_plugin, parameters, short_name
from tailormix.losses.registry import LOSSES
from tailormix.methods import METHODS
from tailormix.models.registry import MODELS, TIMM_PREFIX
from tailormix.training.settings import Choice, Settings, known_options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


SHIPPED = resources.files(__package__) / "files"
#: the keys of every experiment file that ships with the package, by name
EXPERIMENTS: dict[str, dict[str, Any]] = {
    name: tomllib.loads((SHIPPED / f"{name}.toml").read_text(encoding="utf-8"))
    for name in (
        "moons",
        "circles",
        "digits-mlp",
        "digits-resnet8",
        "cifar10-cpu",
        "airfoil",
        "exchange-rate",
        "exchange-rate-short",
        "features",
    )
}

#: losses of real targets; ``denormalised`` multiplies by the data's scale first, as the released code does
REGRESSION_LOSSES = {"mse": "squared error", "mse-denormalised": "squared error in the published units"}
DEFAULT_LOSS = "default"
DEFAULT_NAMES = {
    "method": "erm",
    "loss": DEFAULT_LOSS,
    "optimiser": Settings().optimiser.name,
    "schedule": Settings().schedule.name,
    "embeddings": Settings().embeddings.name,
}
COMPONENTS = ("data", "model", "method", "loss")
SECTIONS = (*COMPONENTS, "optimiser", "schedule", "embeddings")
SETTINGS = tuple(f.name for f in dataclasses.fields(Settings))
KEYS = ("summary", *COMPONENTS, *SETTINGS)
#: settings that no file names
DEFAULTS = {
    name: value.flat() if isinstance(value, Choice) else value
    for name, value in ((name, getattr(Settings(), name)) for name in SETTINGS)
}
#: keys that change how a run is executed, but not what it computes
EXECUTION_KEYS = ("summary", "workers", "checkpoint_every", "also")


@dataclass(frozen=True)
class Experiment:
    """Data, model, method and loss by name or plug-in, and how to train.

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
        if not is_plugin(self.data.name):
            checks.known("data", self.data.name, DATASETS)
        if not (is_plugin(self.model.name) or str(self.model.name).startswith(TIMM_PREFIX)):
            checks.known("model", self.model.name, MODELS)
        for name in self.training.also:
            checks.known("data set of also", name, DATASETS)
        if not is_plugin(self.method.name):
            known_options("method", self.method, {name: method_options(name) for name in METHODS})
        if not is_plugin(self.loss.name):
            losses: dict[str, Mapping[str, Any]] = {name: {} for name in (DEFAULT_LOSS, *REGRESSION_LOSSES)}
            known_options("loss", self.loss, losses | {name: loss.defaults for name, loss in LOSSES.items()})

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Experiment:
        """The experiment of a file's keys; an unknown key fails with the closest match.

        >>> Experiment.from_dict({"data": {"name": "moons"}, "model": {"name": "mlp"}, "epoch": 3})
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
        training = {key: read.pop(key) for key in SETTINGS if key in read}
        return Experiment(training=Settings(**training), **read)

    def to_dict(self) -> dict[str, Any]:
        """All settings, with the keys of a file."""
        values = {"summary": self.summary}
        values |= {name: getattr(self, name) for name in COMPONENTS}
        values |= {name: getattr(self.training, name) for name in SETTINGS}
        return {key: value.flat() if isinstance(value, Choice) else value for key, value in values.items()}

    @property
    def plugins(self) -> dict[str, str]:
        """The sections that name code of the user, and those names."""
        names = {section: getattr(self, section).name for section in COMPONENTS}
        return {section: name for section, name in names.items() if is_plugin(name)}

    def changed(self) -> dict[str, Any]:
        """The settings that are not at their defaults, with the keys of a file."""
        return {key: value for key, value in self.to_dict().items() if value != DEFAULTS.get(key)}


def read(experiment: str | Path, settings: Sequence[str] = (), *, seed: int | None = None) -> Experiment:
    """A shipped experiment, or the one in a ``.toml`` file, with ``key=value`` settings on top.

    >>> read("moons", ["epochs=3", "method=mixup"]).method.name
    'mixup'
    >>> read("moon")
    Traceback (most recent call last):
    ValueError: unknown experiment 'moon'; did you mean 'moons'? Known: moons, ...
    """
    values = merge(merge(DEFAULT_NAMES, _values(experiment)), parse_settings(settings))
    return Experiment.from_dict(values if seed is None else {**values, "seed": seed})


def to_toml(experiment: Experiment) -> str:
    """The experiment as a file, without keys at their defaults; read again it is the same experiment.

    >>> print(to_toml(read("moons")))
    summary = "..."
    epochs = ...
    """
    import tomli_w

    return tomli_w.dumps(experiment.changed())


def write_toml(experiment: Experiment, path: Path) -> Path:
    """Write the file, atomically."""
    return write_atomically(path, to_toml(experiment))


def experiment_name(experiment: str | Path) -> str:
    """The experiment's name in folders and titles: a file's is its stem.

    >>> experiment_name("my/moons.v2.toml")
    'moons.v2'
    """
    path = Path(experiment)
    if path.suffix != ".toml":
        return str(experiment)
    if set(path.stem) <= {"."}:  # as the name of a folder it would lead somewhere else
        raise ValueError(f"an experiment file needs a name before .toml, got {path.name!r}")
    return path.stem


def run_name(experiment: Experiment) -> str:
    """The folder of all seeds of an experiment, whichever table asks for it.

    >>> run_name(read("moons"))
    'moons-mlp-sk-mixup-...'
    """
    names = (experiment.data.name, experiment.model.name, experiment.method.name)
    joined = "-".join([*map(short_name, names), fingerprint(experiment)])
    return joined.replace(":", "-").replace("/", "-")


def fingerprint(experiment: Experiment) -> str:
    """Eight hexadecimal digits that tell experiments apart; seed and ``EXECUTION_KEYS`` do not count.

    Defaults do not count either: a setting that a later version adds leaves old runs recognisable.
    """
    ignored = (*EXECUTION_KEYS, "seed")
    values = {key: value for key, value in experiment.changed().items() if key not in ignored}
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:8]


def method_options(method: str) -> Mapping[str, Any]:
    """The options that a method takes, by name."""
    if is_plugin(method):
        return parameters(method)
    return inspect.signature(METHODS[method].build).parameters


def merge(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    """``upper`` over ``lower``. A section with another name replaces the old one with all its options.

    >>> lower = {"method": {"name": "sk-mixup", "tau_std": 0.5}, "epochs": 2}
    >>> merge(lower, {"method": {"tau_max": 2.0}})["method"]
    {'name': 'sk-mixup', 'tau_std': 0.5, 'tau_max': 2.0}
    >>> merge(lower, {"method": "mixup"})["method"]
    {'name': 'mixup'}
    """
    merged = {key: _section(key, value) if key in SECTIONS else value for key, value in lower.items()}
    for key, value in upper.items():
        if key in SECTIONS:
            section, old = _section(key, value), merged.get(key, {})
            renamed = section.get("name", old.get("name")) != old.get("name")
            merged[key] = section if renamed else {**old, **section}
        else:
            merged[key] = value
    return merged


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """The keys of ``--set key=value``; later ones win.

    >>> parse_settings(["epochs=3", "method.tau_std=0.5", "model.hidden=[8, 8]", "method=sk-mixup"])
    {'epochs': 3, 'method': {'tau_std': 0.5, 'name': 'sk-mixup'}, 'model': {'hidden': [8, 8]}}
    """
    values: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise ValueError(f"--set takes key=value, got {setting!r}")
        top, dot, inner = key.strip().partition(".")
        value = parse_value(text.strip())
        if checks.known("key of the experiment", top, KEYS) in SECTIONS:
            values[top] = {**values.get(top, {}), **({inner: value} if dot else _section(top, value))}
        elif dot:
            raise ValueError(f"{top} is not a section, got the key {key.strip()!r}")
        else:
            values[top] = value
    return values


def parse_value(text: str) -> Any:
    """A value as TOML reads it; what is no TOML is text, so that names need no quotes.

    >>> parse_value("0.5"), parse_value("[1, 2]"), parse_value("true"), parse_value("sk-mixup")
    (0.5, [1, 2], True, 'sk-mixup')
    """
    try:
        found = tomllib.loads(f"value = {text}")
    except (tomllib.TOMLDecodeError, RecursionError):
        return text
    return found["value"] if list(found) == ["value"] else text


def _values(experiment: str | Path) -> dict[str, Any]:
    """The keys of a shipped experiment or of a file."""
    path = Path(experiment)
    if path.suffix != ".toml":
        return EXPERIMENTS[checks.known("experiment", str(experiment), EXPERIMENTS)]
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ValueError(f"there is no experiment file {path}") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise ValueError(f"cannot read the experiment file {path}: {error}") from error


def _section(key: str, value: Any) -> dict[str, Any]:
    """A section as a dictionary; a plain text is its name."""
    if isinstance(value, str):
        return {"name": value}
    if not isinstance(value, dict):
        raise TypeError(f"{key} must be a name or a section, got {type(value).__name__}: {value!r}")
    return value


def _choice(key: str, section: Mapping[str, Any]) -> Choice:
    if "name" not in section:
        raise ValueError(f"section {key} needs a name, got only {', '.join(section) or 'nothing'}")
    return Choice(section["name"], {name: value for name, value in section.items() if name != "name"})
