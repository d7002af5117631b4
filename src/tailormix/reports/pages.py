"""HTML pages from templates, and the page of an evaluation."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

from tailormix.reports.classes import MOST_CLASSES
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
    figures = [
        {"name": name, "caption": CAPTIONS[name], "svg": page_svg(figure)}
        for name, figure in evaluation_diagrams(evaluation).items()
    ]
    return render(
        "evaluation.html.jinja",
        title=title,
        evaluation=evaluation,
        verdicts=verdict_sentences(evaluation),
        table=table_rows(evaluation),
        class_headings=_class_headings(evaluation),
        classes=_class_rows(evaluation),
        most=MOST_CLASSES,
        figures=figures,
        origin=_origin(evaluation),
        confidence=f"{100 * evaluation.settings.confidence:g}",
    )


def _class_headings(evaluation: Evaluation) -> list[tuple[str, str]]:
    counted = [("Samples", ""), ("Recall", ""), ("Predicted", ""), ("Precision", "")]
    stages = [("Confidence", "before"), ("Confidence", "after")] if evaluation.after else [("Confidence", "")]
    return counted + stages


def _class_rows(evaluation: Evaluation) -> list[tuple[str, list[str]]]:
    """(name, cells) of each class; of many classes, those that are found least come first."""
    if not evaluation.classes:
        return []
    stages = [found.rows() for found in evaluation.classes]
    order = list(range(len(stages[0])))
    if not evaluation.classes[0].small:
        order = evaluation.classes[0].recall.nan_to_num(2.0).argsort().tolist()
    return [
        (
            row.name,
            [
                f"{row.samples:,}",
                _percent(row.recall),
                f"{row.predicted:,}",
                _percent(row.precision),
                *(_percent(stage[k].confidence) for stage in stages),
            ],
        )
        for k, row in ((k, stages[0][k]) for k in order)
    ]


def _origin(evaluation: Evaluation) -> list[tuple[str, str]]:
    """Which points were evaluated, what was fitted, and on which points."""
    calibration = dict(evaluation.calibration or {})
    fitted = calibration.pop("fitted_on", {})
    calibration.pop("note", None)
    facts = {
        "points": evaluation.fingerprint,
        **{name.replace("_", " "): value for name, value in calibration.items()},
        **{f"fitted on: {name}": value for name, value in fitted.items()},
    }
    return [
        (name.capitalize(), f"{value:.4g}" if isinstance(value, float) else str(value))
        for name, value in facts.items()
        if value is not None
    ]


def _percent(share: float | None) -> str:
    return "—" if share is None else f"{100 * share:.1f} %"


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
