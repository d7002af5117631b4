"""Which diagrams belong to an evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailormix.reports.curves import reliability_of_rows, risk_of_rows, risk_of_spread, spread_curve
from tailormix.reports.reliability import before_after_diagram, reliability_diagram
from tailormix.reports.risk import risk_coverage_diagram
from tailormix.reports.spread import spread_diagram

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailormix.reports.evaluation import Evaluation


def diagrams(evaluation: Evaluation) -> dict[str, Figure]:
    """Return the diagrams by file name: reliability (or spread) and risk–coverage, before and after."""
    return _classification(evaluation) if evaluation.task == "classification" else _regression(evaluation)


def _classification(evaluation: Evaluation) -> dict[str, Figure]:
    stages = [one for one in (evaluation.before, evaluation.after) if one is not None]
    bins = evaluation.settings.n_bins
    pairs = zip(evaluation.rows, stages, strict=True)
    curves = [reliability_of_rows(rows, n_bins=bins, ece=stage["ece"]) for rows, stage in pairs]
    draw = before_after_diagram if len(curves) == 2 else reliability_diagram
    risks = [risk_of_rows(rows) for rows in evaluation.rows]
    return {"reliability": draw(*curves), "risk-coverage": risk_coverage_diagram(*risks)}


def _regression(evaluation: Evaluation) -> dict[str, Figure]:
    stages = [one for one in (evaluation.before, evaluation.after) if one is not None]
    curves, risks = [], []
    for view, stage in zip(evaluation.spreads, stages, strict=True):
        arrays = (view.mean, view.std, view.targets)
        curves.append(spread_curve(*arrays, n_bins=evaluation.settings.n_bins, ence=stage["ence"]))
        risks.append(risk_of_spread(*arrays))
    return {"spread": spread_diagram(*curves), "risk-coverage": risk_coverage_diagram(risks[0])}
