"""Tables of a report on runs: metrics, costs, settings and provenance."""

from __future__ import annotations

import json
import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailormix.data.corrupt import CORRUPTIONS
from tailormix.methods import METHODS
from tailormix.metrics.registry import METRICS, names_of
from tailormix.reports.classes import MOST_CLASSES
from tailormix.reports.numbers import FRACTIONS, NONE, MeanStd, column_decimals, mean_text
from tailormix.reports.runs.names import settings_text, value_text
from tailormix.reports.runs.reading import CALIBRATED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tailormix.reports.runs.groups import Group, Problem
    from tailormix.reports.runs.reading import Run, Skipped


BEFORE = "before"
#: columns of the summary; a second table has all metrics
MAIN = {
    "classification": ("accuracy", "ece", "aece", "nll"),
    "regression": ("rmse", "mape", "gaussian_nll", "ence", "coverage"),
}
#: columns that fit into a terminal
SHORT = {"classification": ("accuracy", "ece", "nll"), "regression": ("rmse", "ence", "coverage")}
#: shifted test parts that have a title of their own
PARTS = {
    "corrupted": "Corrupted images",
    "covariate": "Rows beyond the training data",
    "unknown": "Unknown inputs",
}
#: how well low confidence finds unknown inputs: titles, and whether more is better
DETECTION = {"auroc": ("AUROC %", True), "fpr95": ("False positives at 95 % recall, %", False)}
#: metrics that calibration leaves as they are
UNCHANGED = ("accuracy", "rmse", "mae", "mape")
#: what was fitted: its symbol in headings, and its name
FITTED = {"classification": ("T", "temperature"), "regression": ("scaling", "variance scaling")}
WIDEST = 6  # groups beside each other; more become further tables below


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


@dataclass(frozen=True)
class WideTable:
    """Groups beside each other: their labels, and rows of (title, small print, a cell for each group)."""

    labels: tuple[str, ...]
    rows: tuple[tuple[str, str, tuple[Cell, ...]], ...]


def metric_table(problem: Problem, names: Sequence[str], *, with_fitted: bool = False) -> MetricTable:
    """Some metrics of a problem's groups, before and after calibration, and what was fitted for that."""
    headings, columns = [], []
    symbol = FITTED[problem.task][0]
    for name in names:
        stages = stages_of(problem, name)
        for stage in stages:
            small = "" if len(stages) == 1 else "before" if stage == BEFORE else f"after {symbol}"
            headings.append((metric_title(name), small))
            columns.append(metric_cells(problem, name, stage))
    if with_fitted:
        headings.append((symbol, ""))
        columns.append(_cells([fitted_value(group) for group in problem.groups]))
    return MetricTable(tuple(headings), tuple(zip(problem.groups, zip(*columns, strict=True), strict=True)))


def summary_table(problem: Problem) -> MetricTable:
    """The main metrics, with the temperature or the scale."""
    return metric_table(problem, MAIN[problem.task], with_fitted=any(run.fitted for run in problem.runs))


def every_metric(problem: Problem) -> list[WideTable]:
    """Every metric that the results hold, with a cell for each group."""
    rows = [
        (metric_title(name), stage, metric_cells(problem, name, stage))
        for name in names_of(problem.task)
        for stage in stages_of(problem, name)
    ]
    return _wide_tables([group.label for group in problem.groups], rows)


def shift_tables(problem: Problem, *, kinds: bool) -> list[WideTable]:
    """The main metrics on every shifted test part, before and after calibration on clean validation rows.

    ``kinds``: on every kind of corruption instead.
    """
    parts = dict.fromkeys(part for run in problem.runs for part in run.shifts)
    rows = []
    for part in (part for part in parts if (part in CORRUPTIONS) is kinds):
        title = PARTS.get(part, part)
        for name in (*SHORT[problem.task], *DETECTION):
            for stage in stages_of(problem, name, part):
                cells = metric_cells(problem, name, stage, part)
                rows.append((f"{title}: {metric_title(name)}", stage, cells))
    return _wide_tables([group.label for group in problem.groups], rows) if rows else []


def class_tables(problem: Problem) -> list[WideTable]:
    """Recall of each class over the seeds; of more than MOST_CLASSES classes, those that are found least."""
    names = next((run.classes[0].names for run in problem.runs if run.classes), ())
    groups = [group for group in problem.groups if all(_has_classes(run, len(names)) for run in group.runs)]
    if not groups:
        return []
    counts = groups[0].runs[0].classes[0].confusion.sum(1).tolist()
    columns = [
        list(zip(*(run.classes[0].recall.tolist() for run in group.runs), strict=True)) for group in groups
    ]
    found = [[MeanStd.of(column[k]) for column in columns] for k in range(len(names))]
    chosen = sorted(range(len(names)), key=lambda k: MeanStd.of(one.mean for one in found[k]).mean)
    shown = sorted(chosen[:MOST_CLASSES])
    rows = [(names[k], f"{counts[k]:,} samples", _cells(found[k], 100, True, percent=True)) for k in shown]
    return _wide_tables([group.label for group in groups], rows)


def _has_classes(run: Run, number: int) -> bool:
    return bool(run.classes) and len(run.classes[0].names) == number


def _wide_tables(labels: Sequence[str], rows: Sequence[tuple[str, str, Sequence[Cell]]]) -> list[WideTable]:
    """As many tables as are needed for WIDEST groups each."""
    starts = range(0, len(labels), WIDEST)
    return [
        WideTable(
            tuple(labels[start : start + WIDEST]),
            tuple((title, small, tuple(cells[start : start + WIDEST])) for title, small, cells in rows),
        )
        for start in starts
    ]


def stages_of(problem: Problem, name: str, part: str | None = None) -> list[str]:
    """The stages in which any group has this metric, but for those that calibration does not change."""
    stages = (BEFORE,) if name in UNCHANGED else (BEFORE, problem.after)
    return [stage for stage in stages if any(group.metric(stage, name, part).n for group in problem.groups)]


def metric_title(name: str) -> str:
    """With a sign for percent, where the numbers are.

    >>> metric_title("ece"), metric_title("nll")
    ('ECE %', 'NLL')
    """
    if name in DETECTION:
        return DETECTION[name][0]
    return METRICS[name].title + (" %" if name in FRACTIONS or METRICS[name].percent else "")


def metric_cells(problem: Problem, name: str, stage: str, part: str | None = None) -> list[Cell]:
    """One cell per group; the best mean, as it is printed, is marked where there are several."""
    found = [group.metric(stage, name, part) for group in problem.groups]
    if name in DETECTION:
        return _cells(found, 100, DETECTION[name][1], percent=True)
    share = name in FRACTIONS
    return _cells(
        found, 100 if share else 1, METRICS[name].higher_is_better, percent=share or METRICS[name].percent
    )


def _cells(
    found: Sequence[MeanStd],
    factor: float = 1,
    higher_is_better: bool | None = None,
    *,
    percent: bool = False,
) -> list[Cell]:
    decimals = column_decimals(found, factor, percent=percent)
    texts = [mean_text(one, factor, decimals) for one in found]
    printed = [None if text == NONE else float(text.split(" ")[0]) for text in texts]
    means = [one for one in printed if one is not None]
    choose = max if higher_is_better else min
    best = None if higher_is_better is None or len(means) < 2 else choose(means)
    return [
        Cell(NONE) if mean is None else Cell(text, one.mean, mean == best)
        for one, text, mean in zip(found, texts, printed, strict=True)
    ]


def number_cell(number: MeanStd) -> Cell:
    """A cell without a best."""
    return Cell(NONE) if math.isnan(number.mean) else Cell(mean_text(number), number.mean)


def fitted_value(group: Group) -> MeanStd:
    """The temperatures or scales that were fitted for the seeds."""
    return MeanStd.of(run.fitted["value"] for run in group.runs if run.fitted)


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
        group.runs[0].result.get("batches_in_memory"),
        method.passes if method else "",
        MeanStd.of(sum(row["seconds"] for row in run.history) for run in group.runs),
        MeanStd.of(run.result.get("best_epoch") or math.nan for run in group.runs),
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
    symbol, name = FITTED[problem.task]
    fitted = [(run, run.fitted or {}) for run in problem.runs]
    leaks = {found.get("fitted on", {}).get("imitates") for _, found in fitted} - {None, ""}
    if leaks:
        notes.append(
            f"Imitates “{', '.join(sorted(leaks))}”: the {name} was fitted on points that it is "
            "evaluated on. These numbers are for comparison with published ones only."
        )
    endings: dict[str, list[str]] = {}
    for run, found in fitted:
        if found.get("note"):
            endings.setdefault(str(found.get("status") or found["note"]), []).append(str(run.path))
    for how, paths in endings.items():
        more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
        notes.append(
            f"{symbol} is no inner minimum of the NLL ({how}) in {', '.join(paths[:MOST_NAMED])}{more}."
        )
    if len({tuple(group.seeds) for group in problem.groups}) > 1:
        notes.append("The methods were not all run with the same seeds.")
    return notes


MOST_NAMED = 8  # runs in a note


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
        "shifts": {
            part: {
                stage: {name: group.metric(stage, name, part).as_dict() for name in metrics}
                for stage, metrics in stages.items()
            }
            for part, stages in group.runs[0].shifts.items()
        },
        CALIBRATED[group.task][0]: fitted_value(group).as_dict(),
        "cost": {
            "seconds_per_epoch": cost.seconds.as_dict(),
            "relative_to_erm": cost.relative,
            "batches_in_memory": cost.batches,
        },
    }
