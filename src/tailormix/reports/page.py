"""One self-contained HTML page of an evaluation: table, diagrams as SVG, provenance; no scripts."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

from tailormix.reports.diagrams import diagrams
from tailormix.reports.style import image_bytes
from tailormix.reports.tables import table_rows

if TYPE_CHECKING:
    from tailormix.reports.evaluation import Evaluation

CAPTIONS = {
    "reliability": "Accuracy against confidence. Bars that end inside the grey band are what a calibrated "
    "model would show with this many samples.",
    "spread": "Observed against predicted error. On the dashed line the predicted spread is right.",
    "risk-coverage": "Risk of the points that the model is surest of. A confidence that ranks well keeps the "
    "risk low for long.",
}


def evaluation_page(evaluation: Evaluation, *, title: str = "Evaluation") -> str:
    """Return the page as text; everything that came from outside is escaped."""
    from jinja2 import Environment, StrictUndefined

    source = files("tailormix.reports").joinpath("evaluation.html.jinja").read_text(encoding="utf-8")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    pictures = [(CAPTIONS[name], inline_svg(figure)) for name, figure in diagrams(evaluation).items()]
    return environment.from_string(source).render(
        title=title,
        evaluation=evaluation,
        table=table_rows(evaluation),
        pictures=pictures,
        confidence=f"{100 * evaluation.settings.confidence:g}",
    )


def inline_svg(figure: Any) -> str:
    """Return a figure as an SVG element that scales with the page."""
    text = image_bytes(figure, "svg").decode()
    return text[text.index("<svg") :]
