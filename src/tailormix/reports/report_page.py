"""One self-contained page of many runs: sortable tables, diagrams, curves, costs and versions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailormix import __version__
from tailormix.reports.pages import render
from tailormix.reports.run_figures import (
    density_figures,
    learning_figures,
    reliability_figures,
    spread_figures,
)
from tailormix.reports.run_tables import (
    costs,
    every_metric,
    notes_of,
    number_cell,
    own_settings,
    run_rows,
    shared_settings,
    summary_table,
    versions_of,
)
from tailormix.reports.style import line_styles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tailormix.reports.run_groups import Problem
    from tailormix.reports.runs import Skipped


@dataclass(frozen=True)
class Section:
    """A further section of the page; text is escaped, ``markupsafe.Markup`` is put in as it is."""

    anchor: str
    title: str
    html: Any


def report_page(
    problems: Sequence[Problem],
    skipped: Sequence[Skipped] = (),
    *,
    title: str = "Runs, side by side",
    lead: str | None = None,
    eyebrow: str = "tailormix report",
    before: Sequence[Section] = (),
    after: Sequence[Section] = (),
    footer: Sequence[str] = (),
) -> str:
    """The page as text; everything that is not of this package is escaped."""
    runs = [run for problem in problems for run in problem.runs]
    return render(
        "report.html.jinja",
        title=title,
        lead=_lead(problems) if lead is None else lead,
        eyebrow=eyebrow,
        before=list(before),
        after=list(after),
        problems=[_problem(problem, number) for number, problem in enumerate(problems, start=1)],
        skipped=list(skipped),
        densities=density_figures(problems),
        with_erm=any(group.method["name"] == "erm" for problem in problems for group in problem.groups),
        versions=versions_of(runs),
        runs=run_rows(runs),
        footer=[*footer, f"Made by tailormix {__version__}. ECE and its variants have 15 bins."],
    )


def _lead(problems: Sequence[Problem]) -> str:
    runs = sum(1 for problem in problems for _ in problem.runs)
    groups = sum(len(problem.groups) for problem in problems)
    return (
        f"{_count(runs, 'run')} of {_count(groups, 'experiment')} on "
        f"{_count(len(problems), 'problem')}: how good, how calibrated, how they learned and what it cost."
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _problem(problem: Problem, number: int) -> dict[str, Any]:
    """What the template shows of a problem."""
    styles = line_styles([group.method["name"] for group in problem.groups])
    labels = [group.label for group in problem.groups]
    classes = problem.task == "classification"
    first = next(problem.runs)
    data, model = (first.experiment[key]["name"] for key in ("data", "model"))
    tested = len(first.rows[0]) if first.rows else len(first.spread or ())
    return {
        "anchor": f"problem-{number}",
        "title": problem.title,
        "summary_text": f"{problem.task.capitalize()} of {data} with the model {model}, evaluated on "
        f"{tested:,} test points per run.",
        "notes": notes_of(problem),
        "several": any(len(group.runs) > 1 for group in problem.groups),
        "labels": labels,
        "summary": summary_table(problem),
        "metrics": every_metric(problem),
        "reliability": [(g.label, reliability_figures(g)) for g in problem.groups] if classes else [],
        "spreads": [] if classes else spread_figures(problem, styles),
        "legend": list(zip(labels, styles, strict=True)),
        "curves": learning_figures(problem, styles),
        "costs": _costs(problem),
        "shared": shared_settings(problem),
        "own": own_settings(problem),
    }


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
