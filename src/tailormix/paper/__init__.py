"""The paper's tables and figures: the published numbers, the runs they take, and what those found."""

from tailormix.paper.planning import Plan, PlannedRun, estimate, plan_runs
from tailormix.paper.results import Cell, collect, record_of
from tailormix.paper.tables import PAPER, Column, Row, Table, TableSetting, Value, read_table

__all__ = [
    "PAPER",
    "Cell",
    "Column",
    "Plan",
    "PlannedRun",
    "Row",
    "Table",
    "TableSetting",
    "Value",
    "collect",
    "estimate",
    "plan_runs",
    "read_table",
    "record_of",
]
