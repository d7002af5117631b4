"""What a report says, for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailormix.reports.run_tables import Cost, costs, temperature

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tailormix.reports.grouping import Group, Problem
    from tailormix.reports.runs import Skipped


def summarised(problems: Sequence[Problem], skipped: Sequence[Skipped]) -> dict[str, Any]:
    """The summary as one JSON object: problems, their groups with every metric, and what was skipped."""
    return {
        "problems": [
            {
                "title": problem.title,
                "task": problem.task,
                "groups": [
                    _group(group, cost) for group, cost in zip(problem.groups, costs(problem), strict=True)
                ],
            }
            for problem in problems
        ],
        "skipped": [{"run": str(one.path), "reason": one.reason} for one in skipped],
    }


def _group(group: Group, cost: Cost) -> dict[str, Any]:
    return {
        "label": group.label,
        "method": group.method,
        "seeds": group.seeds,
        "runs": [str(run.path) for run in group.runs],
        "test": {
            stage: {
                metric: group.spread(stage, metric).as_dict()
                for metric in group.runs[0].result["test"][stage]
            }
            for stage in group.stages()
        },
        "temperature": temperature(group).as_dict(),
        "cost": {
            "seconds_per_epoch": cost.seconds.as_dict(),
            "relative_to_erm": cost.relative,
            "batches_in_memory": cost.batches,
        },
    }
