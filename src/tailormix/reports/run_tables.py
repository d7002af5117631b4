"""Tables of a report on runs: metrics, costs, settings and provenance."""

from __future__ import annotations

import json
import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailormix.methods import METHODS
from tailormix.metrics.registry import METRICS, names_of
from tailormix.reports.evaluation import decimals_of
from tailormix.reports.run_groups import MeanStd, settings_text, value_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tailormix.reports.run_groups import Group, Problem
    from tailormix.reports.runs import Run, Skipped


BEFORE, AFTER, SCALED = "before", "after temperature", "after variance scaling"
#: headings of the stages where a table has several
STAGES = {BEFORE: "before", AFTER: "after T", SCALED: "after scaling"}
#: metrics that no calibration changes
UNCHANGED = ("accuracy", "rmse", "mae", "mape")
#: columns of the summary; a second table has all metrics
MAIN = {
    "classification": ("accuracy", "ece", "aece", "nll"),
    "regression": ("rmse", "mape", "mae", "gaussian_nll", "ence", "coverage"),
}
#: columns that fit into a terminal
SHORT = {"classification": ("accuracy", "ece", "nll"), "regression": ("rmse", "mape", "ence")}
#: fractions that are shown in percent
FRACTIONS = (
    *("accuracy", "ece", "aece", "classwise_ece", "debiased_ece", "mce"),
    *("ence", "ence_as_published", "qce", "coverage"),
)


@dataclass(frozen=True)
class Cell:
    """A number on the page: its text, the value that it is sorted by, and whether it is the best."""

    text: str
    value: float | None = None
    best: bool = False


@dataclass(frozen=True)
class MetricTable:
    """Headings (title, small print), and a row of cells for each group."""

    headings: tuple[tuple[str, str], ...]
    rows: tuple[tuple[Group, tuple[Cell, ...]], ...]


def metric_table(problem: Problem, names: Sequence[str], *, temperatures: bool = False) -> MetricTable:
    """Some metrics of a problem's groups, before and after calibration, and the temperatures themselves."""
    headings, columns = [], []
    for name in names:
        stages = _stages(problem, name)
        for stage in stages:
            small = STAGES[stage] if len(stages) > 1 else ""
            headings.append((_title(name), small))
            columns.append(_cells(problem, name, stage))
    if temperatures:
        headings.append(("T", ""))
        columns.append([number_cell(temperature(group)) for group in problem.groups])
    return MetricTable(tuple(headings), tuple(zip(problem.groups, zip(*columns, strict=True), strict=True)))


def summary_table(problem: Problem) -> MetricTable:
    """The main metrics, with the temperature."""
    fitted = any("temperature" in run.result for run in problem.runs)
    return metric_table(problem, MAIN[problem.task], temperatures=fitted)


def every_metric(problem: Problem) -> list[tuple[str, str, list[Cell]]]:
    """(title, stage, a cell for each group) of every metric that the results hold."""
    return [
        (_title(name), stage, _cells(problem, name, stage))
        for name in names_of(problem.task)
        for stage in _stages(problem, name)
    ]


def _stages(problem: Problem, name: str) -> list[str]:
    """The stages in which any group has this metric, without repeating those that stay the same."""
    stages = (BEFORE,) if name in UNCHANGED else STAGES
    return [stage for stage in stages if any(group.metric(stage, name).n for group in problem.groups)]


def _title(name: str) -> str:
    return METRICS[name].title + (" %" if name in FRACTIONS or METRICS[name].percent else "")


def _cells(problem: Problem, name: str, stage: str) -> list[Cell]:
    """One cell per group; the best mean, as it is printed, is marked where there are several."""
    found = [group.metric(stage, name) for group in problem.groups]
    factor = 100 if name in FRACTIONS else 1
    decimals = 2 if factor == 100 or METRICS[name].percent else None
    texts = [mean_text(one, factor, decimals) for one in found]
    printed = [None if text == "—" else float(text.split(" ")[0]) for text in texts]
    means = [one for one in printed if one is not None]
    rising = METRICS[name].higher_is_better
    best = None if rising is None or len(means) < 2 else (max if rising else min)(means)
    return [
        Cell("—") if mean is None else Cell(text, one.mean, mean == best)
        for one, text, mean in zip(found, texts, printed, strict=True)
    ]


def number_cell(number: MeanStd) -> Cell:
    """A cell without a best."""
    return Cell("—") if math.isnan(number.mean) else Cell(mean_text(number), number.mean)


def mean_text(number: MeanStd, factor: float = 1, decimals: int | None = None) -> str:
    """``95.31 ± 0.42``; without a deviation for one seed, — where there is no number.

    >>> mean_text(MeanStd(0.9531, 0.0042, 3), 100, 2), mean_text(MeanStd(1.25, None, 1))
    ('95.31 ± 0.42', '1.25')
    """
    if math.isnan(number.mean):
        return "—"
    places = decimals_of(number.mean) if decimals is None else decimals
    text = f"{factor * number.mean:.{places}f}"
    return text if number.std is None else f"{text} ± {factor * number.std:.{places}f}"


def temperature(group: Group) -> MeanStd:
    """The fitted temperatures of the seeds."""
    found = (run.result["temperature"]["value"] for run in group.runs if "temperature" in run.result)
    return MeanStd.of(found)


@dataclass(frozen=True)
class Cost:
    """What training took: the median epoch in seconds, also relative to plain training, and the passes."""

    seconds: MeanStd
    relative: float | None
    batches: int | None
    passes: str
    total: MeanStd
    best_epoch: MeanStd


def costs(problem: Problem) -> list[Cost]:
    """One per group. The median epoch, since the first one includes the set-up."""
    return [_cost(group, problem) for group in problem.groups]


def _cost(group: Group, problem: Problem) -> Cost:
    seconds = _median_epoch(group)
    erm = next((one for one in problem.groups if _is_erm_of(one, group)), None)
    base = math.nan if erm is None else _median_epoch(erm).mean
    method = METHODS.get(group.method["name"])
    return Cost(
        seconds,
        seconds.mean / base if base > 0 else None,
        group.runs[0].result["batches_in_memory"],
        method.passes if method else "",
        MeanStd.of(sum(row["seconds"] for row in run.history) for run in group.runs),
        MeanStd.of(run.result.get("best_epoch", math.nan) for run in group.runs),
    )


def _median_epoch(group: Group) -> MeanStd:
    return MeanStd.of(
        statistics.median(row["seconds"] for row in run.history) if run.history else math.nan
        for run in group.runs
    )


def _is_erm_of(one: Group, group: Group) -> bool:
    """Whether this is plain training with the settings of ``group``."""
    return one.method["name"] == "erm" and one.settings == group.settings | {"method": one.method}


def shared_settings(problem: Problem) -> list[tuple[str, str]]:
    """Settings that all groups of a problem have in common."""
    first = problem.groups[0].settings
    return [(key, value_text(value)) for key, value in first.items() if _is_shared(problem, key)]


def own_settings(problem: Problem) -> list[tuple[str, str]]:
    """The other settings of each group, with its seeds."""
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
    leaks = {found.get("fitted on", {}).get("imitates") for _, found in fitted} - {None, ""}
    if leaks:
        notes.append(
            f"Imitates “{', '.join(sorted(leaks))}”: the temperature was fitted on points that it is "
            "evaluated on. These numbers are for comparison with published ones only."
        )
    endings: dict[str, list[str]] = {}
    for run, found in fitted:
        if found.get("note"):
            endings.setdefault(str(found.get("status")), []).append(str(run.path))
    notes += [
        f"T is no inner minimum of the NLL ({how}) in {', '.join(runs)}." for how, runs in endings.items()
    ]
    if len({tuple(group.seeds) for group in problem.groups}) > 1:
        notes.append("The methods were not all run with the same seeds.")
    return notes


def versions_of(runs: Sequence[Run]) -> list[dict[str, Any]]:
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
    """One row per run: its folder, how its weights were selected, and on which points it was tested."""
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


def summary_json(problems: Sequence[Problem], skipped: Sequence[Skipped]) -> dict[str, Any]:
    """The summary as one JSON object: problems, their groups with every metric, and what was skipped."""
    return {
        "problems": [
            {
                "title": problem.title,
                "task": problem.task,
                "groups": [
                    _group_json(group, cost)
                    for group, cost in zip(problem.groups, costs(problem), strict=True)
                ],
            }
            for problem in problems
        ],
        "skipped": [{"run": str(one.path), "reason": one.reason} for one in skipped],
    }


def _group_json(group: Group, cost: Cost) -> dict[str, Any]:
    first = group.runs[0].result["test"]
    return {
        "label": group.label,
        "method": group.method,
        "seeds": group.seeds,
        "runs": [str(run.path) for run in group.runs],
        "test": {
            stage: {name: group.metric(stage, name).as_dict() for name in first[stage]}
            for stage in group.stages()
        },
        "temperature": temperature(group).as_dict(),
        "cost": {
            "seconds_per_epoch": cost.seconds.as_dict(),
            "relative_to_erm": cost.relative,
            "batches_in_memory": cost.batches,
        },
    }
