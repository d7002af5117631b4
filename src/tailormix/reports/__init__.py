"""What people look at: evaluations with intervals, diagrams, and one self-contained page."""

from tailormix.reports.curves import (
    ReliabilityCurve,
    RiskCurve,
    SpreadCurve,
    reliability_curve,
    risk_coverage_curve,
    spread_curve,
)
from tailormix.reports.diagrams import diagrams, risk_coverage_diagram, spread_diagram
from tailormix.reports.evaluation import Evaluation, Settings, evaluate
from tailormix.reports.pages import evaluation_page
from tailormix.reports.reliability import before_after_diagram, reliability_diagram
from tailormix.reports.report_page import Section, report_page
from tailormix.reports.runs import problems_of, read_runs

__all__ = [
    "Evaluation",
    "ReliabilityCurve",
    "RiskCurve",
    "Section",
    "Settings",
    "SpreadCurve",
    "before_after_diagram",
    "diagrams",
    "evaluate",
    "evaluation_page",
    "problems_of",
    "read_runs",
    "reliability_curve",
    "reliability_diagram",
    "report_page",
    "risk_coverage_curve",
    "risk_coverage_diagram",
    "spread_curve",
    "spread_diagram",
]
