"""Figures and illustrations: the code that draws one, called by its name, and its facts as a record."""

from __future__ import annotations

import importlib
import json
from typing import TYPE_CHECKING, Any

from tailormix.experiments.provenance import provenance
from tailormix.experiments.record import CONDUCT

from .recording import described

if TYPE_CHECKING:
    from pathlib import Path

    from tailormix.experiments.record import Experiment

    from .planning import Plan


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
    hidden = (*CONDUCT, "seed", *without)
    found = {key: value for key, value in experiment.flat().items() if key not in hidden}
    plain: dict[str, Any] = json.loads(json.dumps(found))
    return plain
