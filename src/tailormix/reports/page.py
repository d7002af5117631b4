"""One self-contained HTML page of an evaluation: table, diagrams as SVG, provenance. No scripts, no network."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

from tailormix.metrics.catalogue import METRICS
from tailormix.reports.diagrams import diagrams
from tailormix.reports.style import image_bytes

if TYPE_CHECKING:
    from tailormix.metrics.resampling import Interval
    from tailormix.reports.evaluation import Evaluation

CAPTIONS = {
    "reliability": "Accuracy against confidence. Bars that end inside the grey band are what a calibrated model would "
    "show with this many samples.",
    "spread": "Observed against predicted error. On the dashed line the predicted standard deviation is right.",
    "risk-coverage": "Risk of the points that the model is surest of. A confidence that ranks well stays low for long.",
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


def table_rows(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return one row a metric: title, what it is, before, and after where there is one."""
    after = evaluation.after or {}
    return [
        {
            "title": METRICS[name].title + (" (%)" if METRICS[name].percent else ""),
            "summary": METRICS[name].summary,
            "before": number_text(one),
            "after": number_text(after[name]) if name in after else "",
        }
        for name, one in evaluation.before.items()
    ]


def number_text(one: Interval) -> str:
    """Return ``0.0423 [0.031, 0.0502]``, without an interval where there is none, or ``undefined``.

    >>> from tailormix.metrics import Interval
    >>> number_text(Interval(0.04234, 0.031, float("nan")))
    '0.04234'
    """
    if one.value != one.value:
        return "undefined"
    has_interval = one.low == one.low and one.high == one.high
    return f"{one.value:.4g}" + (f" [{one.low:.3g}, {one.high:.3g}]" if has_interval else "")
