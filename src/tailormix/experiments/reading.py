"""From a name or a file, and the command line, to an experiment."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailormix import checks

from .catalogue import EXPERIMENTS
from .layers import from_command_line, lay_over
from .record import DEFAULT_NAMES, Experiment, from_flat

if TYPE_CHECKING:
    from collections.abc import Sequence


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
