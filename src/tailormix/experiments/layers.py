"""Defaults < file < command line: how the layers of an experiment are laid over each other."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

from tailormix import checks

from .record import KEYS, SECTIONS

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
