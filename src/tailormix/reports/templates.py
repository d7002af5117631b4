"""The pages' templates, with the one style sheet that they share."""

from __future__ import annotations

from importlib.resources import files
from typing import Any


def render(name: str, **values: Any) -> str:
    """Return a page of this package as text; everything that came from outside is escaped."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(_source),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name).render(**values)


def _source(name: str) -> str:
    return files("tailormix.reports").joinpath(name).read_text(encoding="utf-8")
