"""Figures and illustrations: the code that draws one, called by its name, and its facts as a record."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tailormix.experiments.provenance import provenance

from .recording import SCHEMA

if TYPE_CHECKING:
    from pathlib import Path

    from tailormix.experiments.paper import Table


def draw(table: Table, runs: Path, out: Path, budget: str, protocol: str) -> dict[str, Any]:
    """Call ``make(options, runs, out)`` of the figure; its files and facts as a record for JSON."""
    module, _, function = table.figure.partition(":")
    make = getattr(importlib.import_module(module), function or "make")
    out.mkdir(parents=True, exist_ok=True)
    made = make(dict(table.options), runs, out)
    origin = provenance()
    return {
        "schema": SCHEMA,
        "table": table.name,
        "title": table.title,
        "kind": table.kind,
        "label": table.label,
        "section": table.section,
        "note": " ".join(table.note.split()),
        "budget": budget,
        "protocol": protocol,
        "repeats": table.repeats,
        "commits": [origin["commit"]] if origin["commit"] else [],
        "versions": {name: [version] for name, version in origin["versions"].items() if version},
        "settings": [],
        "files": [path.name for path in made.files],
        "facts": made.facts,
    }
