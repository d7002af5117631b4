"""An experiment as the text of a file that ``tailormix train`` accepts. Free of torch."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tailormix.atomic import write_atomically

from .record import DEFAULTS

if TYPE_CHECKING:
    from pathlib import Path

    from .record import Experiment


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
