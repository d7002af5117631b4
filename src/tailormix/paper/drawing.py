"""Figures and illustrations: the runs they show, the code that draws one, and its facts as a record."""

from __future__ import annotations

import importlib
import inspect
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailormix import checks
from tailormix.atomic import write_atomically
from tailormix.experiments.experiment import EXECUTION_KEYS
from tailormix.experiments.running import provenance
from tailormix.methods import METHODS
from tailormix.paper.results import described
from tailormix.training import run_folder
from tailormix.training.settings import Choice, Settings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from matplotlib.figure import Figure
    from torch import nn

    from tailormix.data.splits import DataSplits
    from tailormix.experiments.experiment import Experiment
    from tailormix.paper.planning import Plan


KINDS = ("svg", "png")


@dataclass(frozen=True)
class FigureResult:
    """Files that were written, and facts: JSON-able, with a ``caption`` that says what there is to see."""

    files: tuple[Path, ...]
    facts: dict[str, Any]


def settled(settings: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The figure's defaults with ``settings`` on top; a key that is no setting fails.

    >>> settled({"bins": 5}, {"bins": 20, "seed": 0})
    {'bins': 5, 'seed': 0}
    >>> settled({"bin": 5}, {"bins": 20, "seed": 0})
    Traceback (most recent call last):
    ValueError: unknown setting of the figure 'bin'; did you mean 'bins'? Known: bins, seed
    """
    for key in settings:
        checks.known("setting of the figure", key, defaults)
    return {**defaults, **settings}


def write_figure(figure: Figure, name: str, out: Path, facts: dict[str, Any]) -> FigureResult:
    """Write NAME.svg and NAME.png into ``out``: both are drawn before either is written."""
    from tailormix.reports.style import image_bytes

    drawn = {f"{name}.{kind}": image_bytes(figure, kind) for kind in KINDS}
    out.mkdir(parents=True, exist_ok=True)
    return FigureResult(tuple(write_atomically(out / file, data) for file, data in drawn.items()), facts)


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
    for path in sorted(runs.glob(f"**/{run_folder.RESULT}")):
        record, result = run_folder.read_json(path.parent / run_folder.EXPERIMENT), run_folder.read_json(path)
        if record and result and isinstance(record.get("experiment"), dict):
            found.append(ChosenRun(path.parent, record["experiment"], result))
    return found


def _without_seed(experiment: Mapping[str, Any]) -> str:
    apart = {key: one for key, one in experiment.items() if key not in APART and one != _default(key)}
    if "method" in apart:
        apart["method"] = _resolved(apart["method"])
    return json.dumps(apart, sort_keys=True, default=str)


def trained_model(run: ChosenRun) -> tuple[nn.Module, DataSplits]:
    """The best weights in their network, ready to predict, and the splits; the random state is left alone.

    The splits must be those of the run, row by row, or the test set might hold what was trained on.
    """
    import torch

    from tailormix import data, models
    from tailormix.training import checkpoint

    (name, options), (network, arguments) = (_named(run.experiment[key]) for key in ("data", "model"))
    splits = data.load(name, seed=run.experiment["seed"], **options)
    if splits.fingerprints != run.result["data"]["fingerprints"]:
        raise ValueError(
            f"the rows of {name} are not those that {run.path} was trained on: get the data anew"
        )
    with torch.random.fork_rng(devices=[]):
        model = models.build(
            network, **models.shape_arguments(network, splits.input_shape, splits.outputs), **arguments
        )
    checkpoint.load_module(model, checkpoint.read(run.path / run.result["best weights"]).tensors)
    return model.eval(), splits


def _named(section: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return str(section["name"]), {key: value for key, value in section.items() if key != "name"}


def draw(plan: Plan, runs: Path, out: Path) -> dict[str, Any]:
    """Call ``make(options, runs, out)`` of the figure; its files and facts as a record for JSON."""
    module, _, function = plan.table.figure.partition(":")
    make = getattr(importlib.import_module(module), function or "make")
    out.mkdir(parents=True, exist_ok=True)
    made = make({**plan.table.options, **models_of(plan)}, runs, out)
    origin = provenance()
    return {
        **described(plan.table, plan.budget, plan.protocol),
        "commits": [origin["commit"]] if origin["commit"] else [],
        "versions": {name: [version] for name, version in origin["versions"].items() if version},
        "settings": [],
        "files": sorted(path.name for path in made.files),
        "facts": made.facts,
    }


def models_of(plan: Plan) -> dict[str, Any]:
    """Which runs a figure looks at: a model for each setting, or a block of bars, one for each row."""
    table = plan.table
    first = {run.setting: run.experiment for run in reversed(plan.runs)}
    chosen = [setting for setting in table.settings if setting.name in first]
    if len(table.rows) < 2:
        models = [{"title": s.titled(plan.budget), "where": where(first[s.name])} for s in chosen]
        return {"models": models} if models else {}
    blocks = [{"title": s.titled(plan.budget), "where": where(first[s.name], "method")} for s in chosen]
    names = {row: run.experiment.method.flat() for run in plan.runs for row in [run.row]}
    bars = [{"title": row.title, "method": names[row.name]} for row in table.rows if row.name in names]
    return {"blocks": blocks, "bars": bars}


def where(experiment: Experiment, *without: str) -> dict[str, Any]:
    """The keys that tell an experiment from others: all but seed and conduct."""
    hidden = (*EXECUTION_KEYS, "seed", *without)
    found = {key: value for key, value in experiment.to_dict().items() if key not in hidden}
    plain: dict[str, Any] = json.loads(json.dumps(found))
    return plain
