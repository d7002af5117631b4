__all__ = ["Cell", "Plan", "PlannedRun", "collect", "estimate", "plan_runs", "record_of"]

from .collecting import Cell as Cell
from .collecting import collect as collect
from .estimating import estimate as estimate
from .planning import Plan as Plan
from .planning import PlannedRun as PlannedRun
from .planning import plan_runs as plan_runs
from .recording import record_of as record_of
