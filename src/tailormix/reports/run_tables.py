"""Tables of a report on runs: metrics, costs, settings and origins."""

from __future__ import annotations

import json
import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailormix.methods import METHODS
from tailormix.metrics.registry import METRICS, names_of
from tailormix.reports.evaluation import decimals_of
from tailormix.reports.runs import Spread, settings_text, value_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tailormix.reports.runs import Group, Problem, Run, Skipped


BEFORE, AFTER = "before", "after temperature"
#: the columns of the first table of a task; all metrics follow in a second one
MAIN = {
    "classification": ("accuracy", "ece", "aece", "nll"),
    "regression": ("rmse", "mape", "mae", "gaussian_nll", "ence", "uce", "coverage"),
}
#: those that a terminal has room for
SHORT = {"classification": ("accuracy", "ece", "nll"), "regression": ("rmse", "mape", "ence")}
#: fractions that are shown in percent
FRACTIONS = (
    *("accuracy", "ece", "aece", "classwise_ece", "debiased_ece", "mce"),
    *("ence", "ence_as_published", "coverage"),
)


@dataclass(frozen=True)
class Cell:
    """A number on the page: how it reads, what it is sorted by, and whether it is the best of its kind."""

    text: str
    value: float | None = None
    best: bool = False


@dataclass(frozen=True)
class Table:
    """Headings (title, small print), and a row of cells for each group."""

    headings: tuple[tuple[str, str], ...]
    rows: tuple[tuple[Group, tuple[Cell, ...]], ...]


def metric_table(problem: Problem, names: Sequence[str]) -> Table:
    """Some metrics of a problem's groups, before and after temperature."""
    columns = [(name, stage) for name in names for stage in _stages(problem, name)]
    headings = [metric_heading(name, stage, _stages(problem, name)) for name, stage in columns]
    return _table(problem, headings, [_ranked(problem, name, stage) for name, stage in columns])


def summary_table(problem: Problem) -> Table:
    """The main metrics, with the temperature."""
    main = metric_table(problem, MAIN[problem.task])
    headings = list(main.headings)
    cells = [list(column) for column in zip(*(row for _, row in main.rows), strict=True)]
    if any("temperature" in run.result for run in problem.runs):
        headings.append(("T", ""))
        cells.append([number_cell(temperature(group)) for group in problem.groups])
    return _table(problem, headings, cells)


def _table(problem: Problem, headings: Sequence[tuple[str, str]], columns: Sequence[list[Cell]]) -> Table:
    return Table(tuple(headings), tuple(zip(problem.groups, zip(*columns, strict=True), strict=True)))


def every_metric(problem: Problem) -> list[tuple[str, str, list[Cell]]]:
    """(title, stage, a cell for each group) of every metric that the results hold."""
    return [
        (METRICS[name].title + _unit(name), stage, _ranked(problem, name, stage))
        for name in names_of(problem.task)
        for stage in _stages(problem, name)
    ]


def _stages(problem: Problem, name: str) -> list[str]:
    """The stages in which any group has this metric; accuracy is the same before and after."""
    stages = (BEFORE,) if name == "accuracy" else (BEFORE, AFTER)
    return [stage for stage in stages if any(group.spread(stage, name).n for group in problem.groups)]


def metric_heading(name: str, stage: str, stages: list[str]) -> tuple[str, str]:
    """Title with unit, and the stage where there are several."""
    small = {BEFORE: "before", AFTER: "after T"}[stage]
    return METRICS[name].title + _unit(name), small if len(stages) > 1 else ""


def _unit(name: str) -> str:
    return " %" if name in FRACTIONS or METRICS[name].percent else ""


def _ranked(problem: Problem, name: str, stage: str) -> list[Cell]:
    """One cell a group; the best mean is marked where there is something to choose."""
    spreads = [group.spread(stage, name) for group in problem.groups]
    factor = 100 if name in FRACTIONS else 1
    decimals = 2 if factor == 100 or METRICS[name].percent else None
    texts = [spread_text(spread, factor, decimals) for spread in spreads]
    means = [float(text.split(" ")[0]) for text in texts if text != "—"]
    rising = METRICS[name].higher_is_better
    best = None if rising is None or len(means) < 2 else (max if rising else min)(means)
    return [
        Cell("—") if text == "—" else Cell(text, spread.mean, float(text.split(" ")[0]) == best)
        for spread, text in zip(spreads, texts, strict=True)
    ]


def number_cell(spread: Spread) -> Cell:
    """A cell that competes with no other."""
    return Cell("—") if math.isnan(spread.mean) else Cell(spread_text(spread), spread.mean)


def spread_text(spread: Spread, factor: float = 1, decimals: int | None = None) -> str:
    """``95.31 ± 0.42``; without a deviation where there is one seed, — where there is no number.

    >>> spread_text(Spread(0.9531, 0.0042, 3), 100, 2), spread_text(Spread(1.25, float("nan"), 1))
    ('95.31 ± 0.42', '1.25')
    """
    if math.isnan(spread.mean):
        return "—"
    places = decimals_of(spread.mean) if decimals is None else decimals
    text = f"{factor * spread.mean:.{places}f}"
    return text if math.isnan(spread.std) else f"{text} ± {factor * spread.std:.{places}f}"


def temperature(group: Group) -> Spread:
    """The temperatures that the seeds were scaled by."""
    found = (run.result["temperature"]["value"] for run in group.runs if "temperature" in run.result)
    return Spread.of(found)


@dataclass(frozen=True)
class Cost:
    """What training took: the median epoch in seconds, also relative to plain training, and the passes."""

    seconds: Spread
    relative: float | None
    batches: int
    passes: str
    total: Spread
    best_epoch: Spread


def costs(problem: Problem) -> list[Cost]:
    """One a group. The median epoch, since the first one also pays for what is set up once."""
    return [_cost(group, _plain(group, problem)) for group in problem.groups]


def _cost(group: Group, plain: Group | None) -> Cost:
    seconds = _median_epoch(group)
    base = math.nan if plain is None else _median_epoch(plain).mean
    relative = seconds.mean / base if base > 0 else None
    entry = METHODS.get(group.method["name"])
    return Cost(
        seconds,
        relative,
        int(group.runs[0].result["batches_in_memory"]),
        entry.passes if entry else "",
        Spread.of(sum(row["seconds"] for row in run.history) for run in group.runs),
        Spread.of(run.result.get("best_epoch", math.nan) for run in group.runs),
    )


def _median_epoch(group: Group) -> Spread:
    return Spread.of(
        statistics.median(row["seconds"] for row in run.history) if run.history else math.nan
        for run in group.runs
    )


def _plain(group: Group, problem: Problem) -> Group | None:
    """Plain training with the same settings otherwise."""

    def rest(one: Group) -> dict[str, Any]:
        return {key: value for key, value in one.settings.items() if key != "method"}

    plain = (one for one in problem.groups if one.method["name"] == "erm" and rest(one) == rest(group))
    return next(plain, None)


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
