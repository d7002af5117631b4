"""One self-contained page of many runs: sortable tables, diagrams, curves, costs and versions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailormix import __version__
from tailormix.reports.classes import pooled
from tailormix.reports.pages import render
from tailormix.reports.runs.groups import headline
from tailormix.reports.runs.run_figures import (
    density_figures,
    learning_figures,
    pooled_reliability,
    pooled_spread,
    reliability_figures,
    spread_figures,
)
from tailormix.reports.runs.run_tables import (
    FITTED,
    class_tables,
    costs,
    every_metric,
    notes_of,
    number_cell,
    own_settings,
    run_rows,
    shared_settings,
    shift_tables,
    summary_table,
    versions_of,
)
from tailormix.reports.style import line_styles
from tailormix.reports.verdict import Verdict, verdict_on_classes, verdict_on_spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tailormix.reports.runs.groups import Group, Problem
    from tailormix.reports.runs.reading import Skipped


@dataclass(frozen=True)
class Section:
    """A further section of the page; text is escaped, ``markupsafe.Markup`` is put in as it is."""

    anchor: str
    title: str
    html: Any


MOST_VERDICTS = 12  # in one list
MOST_DRAWN = 24  # experiments with pictures: each takes about a second


def report_page(
    problems: Sequence[Problem],
    skipped: Sequence[Skipped] = (),
    *,
    title: str | None = None,
    lead: str | None = None,
    eyebrow: str = "tailormix report",
    before: Sequence[Section] = (),
) -> str:
    """The page as text; everything that is not of this package is escaped.

    All experiments are in the tables. Beyond MOST_DRAWN experiments, only those with the most runs have
    pictures.
    """
    runs = [run for problem in problems for run in problem.runs]
    groups = [group for problem in problems for group in problem.groups]
    largest = sorted(groups, key=lambda group: -len(group.runs))[:MOST_DRAWN]
    drawn = [group for group in groups if group in largest]
    return render(
        "report.html.jinja",
        title=headline(problems) if title is None else title,
        lead=_lead(problems) if lead is None else lead,
        eyebrow=eyebrow,
        before=list(before),
        problems=[_problem(problem, number, drawn) for number, problem in enumerate(problems, start=1)],
        cut=_cut(len(drawn), len(groups)),
        skipped=list(skipped),
        densities=density_figures(drawn),
        with_erm=any(group.method["name"] == "erm" for group in groups),
        versions=versions_of(runs),
        runs=run_rows(runs),
        footer=f"Made by tailormix {__version__}. ECE and its variants have 15 bins.",
    )


def _lead(problems: Sequence[Problem]) -> str:
    runs = sum(1 for problem in problems for _ in problem.runs)
    groups = sum(len(problem.groups) for problem in problems)
    where = f" on {len(problems)} problems" if len(problems) > 1 else ""
    return (
        f"{_count(runs, 'run')} of {_count(groups, 'experiment')}{where}: how often they are right, whether "
        "their confidence is deserved, how they learned, and what it cost."
    )


def _cut(drawn: int, experiments: int) -> str:
    if drawn == experiments:
        return ""
    return (
        f"Pictures show the {_count(drawn, 'experiment')} with the most runs; tables show all {experiments}."
    )


def _count(number: int, noun: str, ending: str = "s") -> str:
    return f"{number:,} {noun}{'' if number == 1 else ending}"


def _problem(problem: Problem, number: int, drawn: Sequence[Group]) -> dict[str, Any]:
    """What the template shows of a problem."""
    groups = [group for group in problem.groups if group in drawn]
    styles = line_styles([group.method["name"] for group in groups])
    classes = problem.task == "classification"
    return {
        "anchor": f"problem-{number}",
        "title": problem.title,
        "summary_text": _summary_text(problem),
        "notes": notes_of(problem),
        "several": any(len(group.runs) > 1 for group in problem.groups),
        "fitted": FITTED[problem.task][1],
        "verdicts": _verdicts(groups),
        "summary": summary_table(problem),
        "metrics": every_metric(problem),
        "shifts": shift_tables(problem, kinds=False),
        "kinds": shift_tables(problem, kinds=True),
        "classes": class_tables(problem),
        "confusions": [
            (group.label, pooled([run.classes[0] for run in group.runs]))
            for group in groups
            if all(run.classes for run in group.runs)
        ],
        "reliability": [(group.label, reliability_figures(group)) for group in groups] if classes else [],
        "spreads": [] if classes else spread_figures(problem.title, groups, styles),
        "legend": list(zip((group.label for group in groups), styles, strict=True)),
        "curves": learning_figures(problem.title, groups, styles) if groups else [],
        "costs": _costs(problem),
        "shared": shared_settings(problem),
        "own": own_settings(problem),
    }


def _verdicts(groups: Sequence[Group]) -> list[tuple[str, Verdict]]:
    """One for each group; none for so many that nobody would read them: their pictures have them too."""
    if len(groups) > MOST_VERDICTS:
        return []
    return [(group.label, found) for group in groups if (found := verdict_of(group)) is not None]


def verdict_of(group: Group) -> Verdict | None:
    """Whether the confidence of its seeds, before calibration, is deserved; None without any confidence."""
    if group.task == "classification":
        return verdict_on_classes(pooled_reliability(group))
    return verdict_on_spread(*pooled_spread(group), seeds=len(group.runs))


def _summary_text(problem: Problem) -> str:
    """Kind and size of the problem, and how often it was run."""
    first = next(problem.runs)
    tested = len(first.rows[0]) if first.rows else len(first.spreads[0])
    kind = problem.task.capitalize()
    if first.classes:
        kind += f" into {_count(len(first.classes[0].names), 'class', 'es')}"
    seeds = sorted({len(group.runs) for group in problem.groups})
    often = _count(seeds[0], "seed") if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]} seeds"
    return f"{kind}. {tested:,} test points per run, {often} per experiment."


def _costs(problem: Problem) -> list[tuple[str, dict[str, Any]]]:
    found = costs(problem)
    most = max((cost.relative for cost in found if cost.relative is not None), default=1.0)
    return [
        (
            group.label,
            {
                "seconds": number_cell(cost.seconds),
                "relative": cost.relative,
                "width": 100 * (cost.relative or 0) / most,
                "batches": cost.batches,
                "passes": cost.passes,
                "total": number_cell(cost.total),
                "best_epoch": number_cell(cost.best_epoch),
            },
        )
        for group, cost in zip(problem.groups, found, strict=True)
    ]
