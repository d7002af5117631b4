"""One self-contained HTML page of an evaluation: table, diagrams as SVG, provenance; no scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailormix.reports.diagrams import diagrams
from tailormix.reports.pictures import page_svg
from tailormix.reports.tables import table_rows
from tailormix.reports.templates import render

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
    pictures = [(CAPTIONS[name], page_svg(figure)) for name, figure in diagrams(evaluation).items()]
    return render(
        "evaluation.html.jinja",
        title=title,
        evaluation=evaluation,
        table=table_rows(evaluation),
        pictures=pictures,
        confidence=f"{100 * evaluation.settings.confidence:g}",
    )
