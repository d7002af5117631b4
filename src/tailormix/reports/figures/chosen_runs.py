"""Finished runs chosen by their settings, whatever their folders are called."""

from __future__ import annotations

import inspect
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailormix import checks
from tailormix.methods import METHODS
from tailormix.training import folder
from tailormix.training.settings import Choice, Settings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

#: what differs between runs of one experiment
APART = ("seed", "summary", "workers", "checkpoint_every")


@dataclass(frozen=True)
class ChosenRun:
    """Folder, settings (the keys of an experiment file) and result of a finished run."""

    path: Path
    experiment: dict[str, Any]
    result: dict[str, Any]


def choose_runs(runs: Path, where: Mapping[str, Any]) -> list[ChosenRun]:
    """All finished seeds, in order, of the one experiment below ``runs`` that fits ``where``.

    ``where`` has the keys of an experiment file. The method must be the same, with options that are not named
    at their defaults; of every other section only what is named must be equal. What does not make another
    experiment (seed, workers, defaults that are written out, ...) does not count; of two runs with one seed
    the last folder's is taken.
    """
    fitting = [run for run in _finished(runs) if matches(run.experiment, where)]
    if not fitting:
        raise FileNotFoundError(
            f"there is no finished run with {json.dumps(where)} below {runs}: tailormix train makes one"
        )
    kinds = {_without_seed(run.experiment): run.experiment for run in fitting}
    if len(kinds) > 1:
        first, second = list(kinds.values())[:2]
        differ = [key for key in first if key not in APART and first[key] != second.get(key)]
        raise ValueError(
            f"{len(kinds)} experiments below {runs} fit {json.dumps(where)}; "
            f"they differ in {', '.join(differ)}: say which is meant"
        )
    by_seed = {int(run.experiment.get("seed", 0)): run for run in fitting}
    return [by_seed[seed] for seed in sorted(by_seed)]


def matches(experiment: Mapping[str, Any], where: Mapping[str, Any]) -> bool:
    """Whether an experiment's settings fit; see :func:`choose_runs`.

    >>> trained = {"data": {"name": "moons", "n": 200}, "method": {"name": "mixup", "alpha": 1.0}}
    >>> matches(trained, {"data": {"name": "moons"}, "method": {"name": "mixup"}})
    True
    >>> matches(trained, {"method": {"name": "mixup", "alpha": 0.2}})
    False
    """
    asked = json.loads(json.dumps({key: value for key, value in where.items() if key not in APART}))
    return all(_fits(key, _setting(experiment, key), wanted) for key, wanted in asked.items())


def _setting(experiment: Mapping[str, Any], key: str) -> Any:
    """What a record says; a setting that did not exist when it was written has today's default."""
    return experiment[key] if key in experiment else _default(key)


def _default(key: str) -> Any:
    default = getattr(Settings(), key, None)
    return default.flat() if isinstance(default, Choice) else default


def _fits(key: str, found: Any, wanted: Any) -> bool:
    if not (isinstance(found, dict) and isinstance(wanted, dict)):
        return bool(found == wanted)
    if key == "method":
        return _resolved(found) == _resolved(wanted)
    return all(found.get(name) == value for name, value in wanted.items())


def _resolved(method: Mapping[str, Any]) -> dict[str, Any]:
    """A method's section with its defaults filled in."""
    name = checks.known("method", method.get("name"), METHODS)
    parameters = inspect.signature(METHODS[name].build).parameters.items()
    return {key: one.default for key, one in parameters if one.default is not one.empty} | dict(method)


def _finished(runs: Path) -> list[ChosenRun]:
    found = []
    for path in sorted(runs.glob(f"**/{folder.RESULT}")):
        record, result = folder.read_json(path.parent / folder.EXPERIMENT), folder.read_json(path)
        if record and result and isinstance(record.get("experiment"), dict):
            found.append(ChosenRun(path.parent, record["experiment"], result))
    return found


def _without_seed(experiment: Mapping[str, Any]) -> str:
    apart = {key: one for key, one in experiment.items() if key not in APART and one != _default(key)}
    if "method" in apart:
        apart["method"] = _resolved(apart["method"])
    return json.dumps(apart, sort_keys=True, default=str)
