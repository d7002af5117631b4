"""Evaluations with intervals, their diagrams and their page. The report on runs is in ``runs``."""

from tailormix.reports.curves import (
    ReliabilityCurve,
    RiskCurve,
    SpreadCurve,
    reliability_curve,
    risk_coverage_curve,
    spread_curve,
)
from tailormix.reports.diagrams import (
    before_after_diagram,
    evaluation_diagrams,
    reliability_diagram,
    risk_coverage_diagram,
    spread_diagram,
)
from tailormix.reports.evaluation import Evaluation, Settings, evaluate
from tailormix.reports.pages import evaluation_page
from tailormix.reports.verdict import Verdict, verdict_on_classes, verdict_on_spread, verdict_sentences

__all__ = [
    "Evaluation",
    "ReliabilityCurve",
    "RiskCurve",
    "Settings",
    "SpreadCurve",
    "Verdict",
    "before_after_diagram",
    "evaluate",
    "evaluation_diagrams",
    "evaluation_page",
    "reliability_curve",
    "reliability_diagram",
    "risk_coverage_curve",
    "risk_coverage_diagram",
    "spread_curve",
    "spread_diagram",
    "verdict_on_classes",
    "verdict_on_spread",
    "verdict_sentences",
]
