"""Figures: the finished runs that they show, their settings, and the results file of a figure."""

from __future__ import annotations

import importlib
import inspect
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from tailormix import checks, data, models
from tailormix.atomic import write_atomically
from tailormix.experiments.experiment import EXECUTION_KEYS
from tailormix.experiments.plugins import is_plugin
from tailormix.experiments.record import provenance
from tailormix.methods import METHODS
from tailormix.paper.results import header
from tailormix.reports.runs.reading import RUN_KEYS
from tailormix.reports.style import image_bytes
from tailormix.training import checkpoint, run_folder
from tailormix.training.settings import Choice, Settings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from matplotlib.figure import Figure
    from torch import nn

    from tailormix.data.splits import DataSplits
    from tailormix.experiments.experiment import Experiment
    from tailormix.paper.planning import RunPlan


FORMATS = ("svg", "png")


@dataclass(frozen=True)
class FigureResult:
    """Files that were written, and facts: JSON-able, with a ``caption`` that says what there is to see."""

    files: tuple[Path, ...]
    facts: dict[str, Any]


def draw(plan: RunPlan, runs: Path, out: Path) -> dict[str, Any]:
    """Draw a figure by its ``make(options, runs, out)``; the contents of its results file."""
    module, _, function = plan.table.figure.partition(":")
    make = getattr(importlib.import_module(module), function or "make")
    out.mkdir(parents=True, exist_ok=True)
    made = make({**plan.table.options, **chosen_models(plan)}, runs, out)
    origin = provenance()
    return {
        **header(plan.table, plan.budget, plan.protocol),
        "commits": [origin["commit"]] if origin["commit"] else [],
        "versions": {name: [version] for name, version in origin["versions"].items() if version},
        "settings": [],
        "files": sorted(path.name for path in made.files),
        "facts": made.facts,
    }


def chosen_models(plan: RunPlan) -> dict[str, Any]:
    """Which runs a figure shows: one model per setting or, with several rows, panels of one bar per row."""
    table = plan.table
    first = {run.setting: run.experiment for run in reversed(plan.runs)}
    titles = {s.name: s.title_for(plan.budget) for s in table.settings if s.name in first}
    if len(table.rows) < 2:
        chosen = [{"title": titles[name], "where": _identity(first[name])} for name in titles]
        return {"models": chosen} if chosen else {}
    blocks = [{"title": titles[name], "where": _identity(first[name], "method")} for name in titles]
    methods = {run.row: run.experiment.method.flat() for run in plan.runs}
    bars = [{"title": row.title, "method": methods[row.name]} for row in table.rows if row.name in methods]
    return {"blocks": blocks, "bars": bars}


def _identity(experiment: Experiment, *without: str) -> dict[str, Any]:
    """The keys that tell an experiment from others: all but the seed and how it is carried out."""
    hidden = (*EXECUTION_KEYS, "seed", *without)
    found = {key: value for key, value in experiment.to_dict().items() if key not in hidden}
    plain: dict[str, Any] = json.loads(json.dumps(found))
    return plain


def figure_settings(settings: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The figure's defaults with ``settings`` on top; an unknown key fails.

    >>> figure_settings({"bins": 5}, {"bins": 20, "seed": 0})
    {'bins': 5, 'seed': 0}
    >>> figure_settings({"bin": 5}, {"bins": 20, "seed": 0})
    Traceback (most recent call last):
    ValueError: unknown setting of the figure 'bin'; did you mean 'bins'? Known: bins, seed
    """
    for key in settings:
        checks.known("setting of the figure", key, defaults)
    return {**defaults, **settings}


def write_figure(figure: Figure, name: str, out: Path, facts: dict[str, Any]) -> FigureResult:
    """Write NAME.svg and NAME.png into ``out``: both are drawn before either is written."""
    drawn = {f"{name}.{kind}": image_bytes(figure, kind) for kind in FORMATS}
    out.mkdir(parents=True, exist_ok=True)
    return FigureResult(
        tuple(write_atomically(out / file, content) for file, content in drawn.items()), facts
    )


@dataclass(frozen=True)
class FinishedRun:
    """Folder, settings (the keys of an experiment file) and result of a finished run."""

    path: Path
    experiment: dict[str, Any]
    result: dict[str, Any]


def find_seeds(runs: Path, where: Mapping[str, Any]) -> list[FinishedRun]:
    """All finished seeds, in order, of the one experiment below ``runs`` that matches ``where``.

    ``where`` has the keys of an experiment file. The method must be the same, with options that are not named
    at their defaults; of every other section only what is named must be equal. Seed, workers, and defaults
    that are written out make no difference; of two runs with one seed the last folder's is taken.
    """
    found = [run for run in _finished_runs(runs) if matches(run.experiment, where)]
    if not found:
        raise FileNotFoundError(
            f"there is no finished run with {json.dumps(where)} below {runs}: tailormix train makes one"
        )
    experiments = {_key(run.experiment): run.experiment for run in found}
    if len(experiments) > 1:
        first, second = list(experiments.values())[:2]
        differ = [key for key in first if key not in RUN_KEYS and first[key] != second.get(key)]
        raise ValueError(
            f"{len(experiments)} experiments below {runs} match {json.dumps(where)}; "
            f"they differ in {', '.join(differ)}: say which is meant"
        )
    by_seed = {int(run.experiment.get("seed", 0)): run for run in found}
    return [by_seed[seed] for seed in sorted(by_seed)]


def _finished_runs(runs: Path) -> list[FinishedRun]:
    found = []
    for path in sorted(runs.glob(f"**/{run_folder.RESULT}")):
        record, result = run_folder.read_json(path.parent / run_folder.EXPERIMENT), run_folder.read_json(path)
        if record and result and isinstance(record.get("experiment"), dict):
            found.append(FinishedRun(path.parent, record["experiment"], result))
    return found


def matches(experiment: Mapping[str, Any], where: Mapping[str, Any]) -> bool:
    """Whether an experiment has these settings; see :func:`find_seeds`.

    A setting that did not exist when the experiment was written has today's default.

    >>> trained = {"data": {"name": "moons", "n": 200}, "method": {"name": "mixup", "alpha": 1.0}}
    >>> matches(trained, {"data": {"name": "moons"}, "method": {"name": "mixup"}})
    True
    >>> matches(trained, {"method": {"name": "mixup", "alpha": 0.2}})
    False
    """
    wanted = json.loads(json.dumps({key: value for key, value in where.items() if key not in RUN_KEYS}))
    return all(
        _same(key, experiment[key] if key in experiment else _default(key), value)
        for key, value in wanted.items()
    )


def _same(key: str, found: Any, wanted: Any) -> bool:
    if not (isinstance(found, dict) and isinstance(wanted, dict)):
        return bool(found == wanted)
    if key == "method":
        return _with_defaults(found) == _with_defaults(wanted)
    return all(found.get(name) == value for name, value in wanted.items())


def _default(key: str) -> Any:
    default = getattr(Settings(), key, None)
    return default.flat() if isinstance(default, Choice) else default


def _with_defaults(method: Mapping[str, Any]) -> dict[str, Any]:
    """A method's section with its defaults filled in; that of a plug-in as it is."""
    if is_plugin(method.get("name")):
        return dict(method)
    name = checks.known("method", method.get("name"), METHODS)
    parameters = inspect.signature(METHODS[name].build).parameters.items()
    return {key: one.default for key, one in parameters if one.default is not one.empty} | dict(method)


def _key(experiment: Mapping[str, Any]) -> str:
    """Text that is equal for runs of the same experiment."""
    kept = {key: one for key, one in experiment.items() if key not in RUN_KEYS and one != _default(key)}
    if "method" in kept:
        kept["method"] = _with_defaults(kept["method"])
    return json.dumps(kept, sort_keys=True, default=str)


def trained_model(run: FinishedRun) -> tuple[nn.Module, DataSplits]:
    """The best weights in their network, ready to predict, and the splits; the random state is left alone.

    The splits must be those of the run, row by row, or the test set might hold what was trained on.
    """
    given, network = dict(run.experiment["data"]), dict(run.experiment["model"])
    name, kind = given.pop("name"), network.pop("name")
    splits = data.load(name, seed=run.experiment["seed"], **given)
    if splits.fingerprints != run.result["data"]["fingerprints"]:
        raise ValueError(
            f"the rows of {name} are not those that {run.path} was trained on: get the data anew"
        )
    shape = models.shape_arguments(kind, splits.input_shape, splits.outputs)
    with torch.random.fork_rng(devices=[]):
        model = models.build(kind, **shape, **network)
    checkpoint.load_module(model, checkpoint.read(run.path / run.result["best weights"]).tensors)
    return model.eval(), splits
