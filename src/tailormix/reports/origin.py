"""Where the numbers of a report come from: settings, versions, folders, and what to beware of."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tailormix.reports.titles import settings_text, value_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tailormix.reports.grouping import Problem
    from tailormix.reports.runs import Run


def shared_settings(problem: Problem) -> list[tuple[str, str]]:
    """Settings that all groups of a problem have in common."""
    first = problem.groups[0].settings
    return [(key, value_text(value)) for key, value in first.items() if _is_shared(problem, key)]


def own_settings(problem: Problem) -> list[tuple[str, str]]:
    """The other settings of each group, beside its seeds."""
    return [
        (
            group.label,
            settings_text({k: v for k, v in group.settings.items() if not _is_shared(problem, k)})
            + f"; seeds {', '.join(map(str, group.seeds))}",
        )
        for group in problem.groups
    ]


def _is_shared(problem: Problem, key: str) -> bool:
    values = [group.settings.get(key) for group in problem.groups]
    return len(values) > 1 and key != "method" and all(value == values[0] for value in values)


def notes_of(problem: Problem) -> list[str]:
    """What makes the numbers of a problem less comparable than they look."""
    notes = []
    fitted = [(run, run.result.get("temperature", {})) for run in problem.runs]
    leaks = {
        found["fitted on"]["imitates"] for _, found in fitted if found.get("fitted on", {}).get("imitates")
    }
    if leaks:
        notes.append(
            f"Imitates “{', '.join(sorted(leaks))}”: the temperature was fitted on points that it is judged "
            "on. These numbers are for comparison with published ones only."
        )
    poor = [str(run.path) for run, found in fitted if found.get("status", "converged") not in GOOD]
    if poor:
        notes.append(f"The search for a temperature did not end at a minimum in {', '.join(poor)}.")
    seeds = {tuple(group.seeds) for group in problem.groups}
    if len(seeds) > 1:
        notes.append("The methods were not all run with the same seeds.")
    return notes


#: endings of the search that give the best temperature
GOOD = ("converged", "flat", "not better than T = 1")


def origins_of(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Each set of versions once, with the number of runs that had it."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(json.dumps(run.provenance, sort_keys=True), []).append(run)
    return [
        {
            "title": f"Versions of {len(same)} of {len(runs)} runs",
            "rows": [
                *(same[0].provenance["versions"] or {}).items(),
                ("commit", same[0].provenance["commit"]),
            ],
        }
        for same in found.values()
    ]


def run_rows(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """One line a run: its folder, and what chose its weights and judged it."""
    return [
        {
            "path": str(run.path),
            "seed": run.seed,
            "best": run.result.get("best_epoch", "—"),
            "rule": run.result.get("selection", {}).get("rule", "—"),
            "test": str(run.result["data"].get("fingerprints", {}).get("test", "—"))[:16],
        }
        for run in runs
    ]
