"""HTML pages from templates, and the page of an evaluation."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

from tailormix.reports.diagrams import evaluation_diagrams
from tailormix.reports.evaluation import table_rows
from tailormix.reports.style import page_svg
from tailormix.reports.verdict import verdict_sentences

if TYPE_CHECKING:
    from tailormix.reports.evaluation import Evaluation


CAPTIONS = {
    "reliability": "Accuracy against confidence. Marks are the accuracy of each bin with its 95 % interval. "
    "The coloured area is the gap to the confidence, as wide as the bin has samples. A mark inside the grey "
    "band is what a calibrated model would show with this many samples.",
    "spread": "Observed against predicted error. On the dashed line the predicted spread is right.",
    "risk-coverage": "Risk of the points with the highest confidence. A confidence that ranks errors well "
    "keeps the risk low for long.",
}


def evaluation_page(evaluation: Evaluation, *, title: str = "Evaluation") -> str:
    """The page as text; everything that is not of this package is escaped."""
    figures = [(CAPTIONS[name], page_svg(figure)) for name, figure in evaluation_diagrams(evaluation).items()]
    return render(
        "evaluation.html.jinja",
        title=title,
        evaluation=evaluation,
        verdicts=verdict_sentences(evaluation),
        table=table_rows(evaluation),
        figures=figures,
        confidence=f"{100 * evaluation.settings.confidence:g}",
    )


def render(name: str, **values: Any) -> str:
    """A template of this package as text; values are escaped."""
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
