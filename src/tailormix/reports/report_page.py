"""One self-contained page of many runs: tables that sort, diagrams, curves, costs and where all came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailormix import __version__
from tailormix.methods import METHODS, build_method
from tailormix.reports.density import FARTHEST, coefficient_law, draw_heat
from tailormix.reports.pages import render
from tailormix.reports.run_pictures import (
    coverage_diagram,
    curve_names,
    curve_title,
    has_spread,
    learning_diagram,
    reliability_pictures,
    spread_picture,
)
from tailormix.reports.run_tables import (
    costs,
    every_metric,
    notes_of,
    number_cell,
    origins_of,
    own_settings,
    run_rows,
    shared_settings,
    summary_table,
)
from tailormix.reports.runs import method_title, settings_text
from tailormix.reports.style import Look, Picture, looks, new_figure, page_svg, plain_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tailormix.reports.runs import Problem, Skipped


@dataclass(frozen=True)
class Section:
    """A part of the page that somebody else wrote; ``html`` is put in as it is."""

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
    """Return the page as text; everything that came from outside, but for the sections, is escaped."""
    runs = [run for problem in problems for run in problem.runs]
    return render(
        "report.html.jinja",
        title=title,
        lead=_lead(problems) if lead is None else lead,
        eyebrow=eyebrow,
        before=list(before),
        after=list(after),
        problems=[_shown(problem, number) for number, problem in enumerate(problems, start=1)],
        skipped=list(skipped),
        laws=law_pictures(problems),
        plain=any(group.method["name"] == "erm" for problem in problems for group in problem.groups),
        origins=origins_of(runs),
        runs=run_rows(runs),
        footer=[*footer, f"Made by tailormix {__version__}. ECE and its kin have 15 bins."],
    )


def _lead(problems: Sequence[Problem]) -> str:
    runs = sum(1 for problem in problems for _ in problem.runs)
    groups = sum(len(problem.groups) for problem in problems)
    return (
        f"{_number(runs, 'run')} of {_number(groups, 'experiment')} on "
        f"{_number(len(problems), 'problem')}: how good, how calibrated, how they learned and what it cost."
    )


def _number(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _shown(problem: Problem, number: int) -> dict[str, Any]:
    """What the template asks of a problem."""
    looked = looks([group.method["name"] for group in problem.groups])
    labels = [group.label for group in problem.groups]
    classes = problem.task == "classification"
    return {
        "anchor": f"problem-{number}",
        "title": problem.title,
        "sentence": _sentence(problem),
        "notes": notes_of(problem),
        "several": any(len(group.runs) > 1 for group in problem.groups),
        "labels": labels,
        "summary": summary_table(problem),
        "metrics": every_metric(problem),
        "reliability": [(g.label, reliability_pictures(g)) for g in problem.groups] if classes else [],
        "spreads": [] if classes else spread_pictures(problem, looked),
        "legend": list(zip(labels, looked, strict=True)),
        "curves": curve_pictures(problem, looked),
        "costs": _costs(problem),
        "shared": shared_settings(problem),
        "own": own_settings(problem),
    }


def _sentence(problem: Problem) -> str:
    run = next(iter(problem.runs))
    names = (run.experiment[key]["name"] for key in ("data", "model"))
    tested = len(run.rows[0]) if run.rows else len(run.spread or ())
    return "{} of {} with the model {}, judged on {:,} test points a run.".format(
        problem.task.capitalize(), *names, tested
    )


def curve_pictures(problem: Problem, looked: Sequence[Look]) -> list[Picture]:
    """One panel for each thing that was written after every epoch."""
    names = ", ".join(group.label for group in problem.groups)
    return [
        Picture(
            page_svg(learning_diagram(problem.groups, looked, name)),
            f"{curve_title(name)} on {problem.title} against the epoch, for {names}",
            curve_title(name),
        )
        for name in curve_names(problem.groups)
    ]


def spread_pictures(problem: Problem, looked: Sequence[Look]) -> list[Picture]:
    """A regression's diagrams: one a group, and the coverage of all of them."""
    found = [spread_picture(group) for group in problem.groups if has_spread(group)]
    if not found:
        return []
    coverage = Picture(
        page_svg(coverage_diagram(problem.groups, looked)),
        f"Share of targets inside the predicted intervals on {problem.title}",
        "Do intervals hold what they promise?",
        "Below the dashed line the predicted spread is too small. Colours as in the learning curves.",
    )
    return [*found, coverage]


def law_pictures(problems: Sequence[Problem]) -> list[Picture]:
    """The law of the mixing coefficient of each method in use; equal ones once."""
    found: dict[str, tuple[str, str, Any]] = {}
    groups = (group for problem in problems for group in problem.groups)
    for group in (group for group in groups if group.method["name"] in METHODS):
        options = {key: value for key, value in group.method.items() if key != "name"}
        word = build_method(group.method["name"], **options).coefficients
        found.setdefault(repr(word), (method_title(group.method["name"]), settings_text(options), word))
    laws = [(title, settings, coefficient_law(word)) for title, settings, word in found.values()]
    return [_law_picture(title, settings, law) for title, settings, law in laws if law is not None]


def _law_picture(title: str, settings: str, law: Any) -> Picture:
    figure = new_figure(4.4, 3.4)
    axes = figure.add_subplot()
    image = draw_heat(axes, law, FARTHEST)
    plain_axes(axes)
    axes.grid(False)
    axes.set_ylabel("mixing coefficient λ")
    bar = figure.colorbar(image, ax=axes, pad=0.02, ticks=[0.1, 1, 10], format="%g")
    bar.outline.set_visible(False)
    plain_axes(bar.ax)
    bar.ax.grid(False)
    label = (
        f"Heat map: density of the mixing coefficient of {title} ({settings or 'defaults'}) against distance"
    )
    return Picture(page_svg(figure), label, title, settings or "defaults")


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
