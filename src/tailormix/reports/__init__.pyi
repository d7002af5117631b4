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

from .curves import ReliabilityCurve as ReliabilityCurve
from .curves import RiskCurve as RiskCurve
from .curves import SpreadCurve as SpreadCurve
from .curves import reliability_curve as reliability_curve
from .curves import risk_coverage_curve as risk_coverage_curve
from .curves import spread_curve as spread_curve
from .diagrams import diagrams as diagrams
from .evaluation import Evaluation as Evaluation
from .evaluation import Settings as Settings
from .grouping import problems_of as problems_of
from .measuring import evaluate as evaluate
from .page import evaluation_page as evaluation_page
from .reliability import before_after_diagram as before_after_diagram
from .reliability import reliability_diagram as reliability_diagram
from .report_page import Section as Section
from .report_page import report_page as report_page
from .risk import risk_coverage_diagram as risk_coverage_diagram
from .runs import read_runs as read_runs
from .spread import spread_diagram as spread_diagram
