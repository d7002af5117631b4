"""Figures of a report on runs: learning curves, reliability, spread, coverage and mixing coefficients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tailormix.methods import METHODS, build_method
from tailormix.metrics.classification import concatenate
from tailormix.metrics.registry import METRICS
from tailormix.reports.curves import reliability_from, spread_curve
from tailormix.reports.density import FARTHEST, coefficient_density, draw_heat_map
from tailormix.reports.diagrams import DIAGONAL, draw_reliability, spread_diagram, two_panels
from tailormix.reports.numbers import mean_text
from tailormix.reports.runs.names import method_title, settings_text
from tailormix.reports.runs.reading import CALIBRATED
from tailormix.reports.runs.run_tables import BEFORE
from tailormix.reports.style import PageFigure, new_figure, page_svg, percent_axis, plain_axes
from tailormix.reports.verdict import verdict_on_classes, verdict_on_spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from tailormix.components import Coefficients
    from tailormix.reports.curves import ReliabilityCurve
    from tailormix.reports.runs.groups import Group
    from tailormix.reports.style import LineStyle


AFTER = CALIBRATED["classification"][1]
FRACTIONS = ("accuracy", "ece")
#: curves that are not of validation metrics
OWN_CURVES = {"loss": "Training loss", "strength": "Strength of mixing"}
STEERED = "τ_max or α of the methods that set it themselves, after each epoch, by validation rows."
LEVELS = np.linspace(0.01, 0.99, 50)
QUARTERS = (0, 0.25, 0.5, 0.75, 1)


def learning_figures(title: str, groups: Sequence[Group], styles: Sequence[LineStyle]) -> list[PageFigure]:
    """A panel for the training loss, for each metric of the validation split, and for automatic strength."""
    rows = [row for group in groups for run in group.runs for row in run.history]
    names = dict.fromkeys(["loss", *(name for row in rows for name in row.get("validation", {}))])
    if any("strength" in row for row in rows):
        names["strength"] = None
    labels = ", ".join(group.label for group in groups)
    return [
        PageFigure(
            page_svg(_learning_diagram(groups, styles, name)),
            f"{curve_title(name)} on {title} against the epoch, for {labels}",
            curve_title(name),
            STEERED if name == "strength" else "",
        )
        for name in names
    ]


def curve_title(name: str) -> str:
    """Title of a learning curve.

    >>> curve_title("loss"), curve_title("strength"), curve_title("ece")
    ('Training loss', 'Strength of mixing', 'Validation ECE')
    """
    if name in OWN_CURVES:
        return OWN_CURVES[name]
    title = METRICS[name].title if name in METRICS else name.upper()
    return f"Validation {title if title.isupper() else title.lower()}"


def _learning_diagram(groups: Sequence[Group], styles: Sequence[LineStyle], name: str) -> Figure:
    """Draw one panel: a line per group, and a band from its lowest to its highest seed."""
    from matplotlib.ticker import MaxNLocator

    figure = new_figure(4.6, 3.0)
    axes = figure.add_subplot()
    for group, style in zip(groups, styles, strict=True):
        epochs, values = learning_curves(group, name)
        if not np.isfinite(values).any():
            continue
        colour, marker = style.colour, "o" if len(epochs) == 1 else None
        if len(values) > 1:
            axes.fill_between(epochs, values.min(0), values.max(0), color=colour, alpha=0.14, linewidth=0)
        (line,) = axes.plot(epochs, values.mean(0), marker=marker, label=group.label, linewidth=1.8)
        line.set(color=colour, linestyle=style.linestyle)
    axes.set_xlabel("epoch")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.margins(x=0.01)
    plain_axes(axes, grid="y")
    if name in FRACTIONS:
        percent_axis(axes.yaxis)
    elif name in ("mse", "strength"):
        axes.set_yscale("log")
    return figure


def learning_curves(group: Group, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Epochs (e,) and values (seeds, e) of the epochs that every seed has."""

    def value(row: dict[str, Any]) -> float:
        found = (row if name in OWN_CURVES else row.get("validation", {})).get(name)
        return np.nan if found is None else float(found)

    found = [{int(row["epoch"]): value(row) for row in run.history} for run in group.runs]
    shared = sorted(set.intersection(*(set(one) for one in found)))
    return np.array(shared, float), np.array([[one[epoch] for epoch in shared] for one in found])


def reliability_figures(group: Group) -> list[PageFigure]:
    """Before, and after temperature where there is an after; all seeds together, on the same scale."""
    stages = [BEFORE, AFTER][: min(len(run.rows) for run in group.runs)]
    curves = [pooled_reliability(group, stage) for stage in stages]
    most = max(float((curve.count / curve.count.sum()).max()) for curve in curves)
    return [
        PageFigure(
            page_svg(_small_reliability(curve, most)),
            f"Reliability diagram of {group.label}, {stage}: {verdict_on_classes(curve).text}",
            stage.capitalize(),
            f"{verdict_on_classes(curve)} ECE {mean_text(group.metric(stage, 'ece'), 100)} %.".replace(
                " %", "\N{NO-BREAK SPACE}%"
            ),
        )
        for curve, stage in zip(curves, stages, strict=True)
    ]


def pooled_reliability(group: Group, stage: str = BEFORE) -> ReliabilityCurve:
    """All seeds together, before or after temperature; the ECE is the mean of the seeds."""
    rows = concatenate([run.rows[(BEFORE, AFTER).index(stage)] for run in group.runs])
    return reliability_from(rows, ece=group.metric(stage, "ece").mean, seeds=len(group.runs))


def _small_reliability(curve: ReliabilityCurve, most: float) -> Figure:
    figure = new_figure(3.4, 3.7)
    upper, lower = two_panels(figure, ratio=3.4)[0]
    draw_reliability(upper, lower, curve, most=most)
    upper.set_xticks(QUARTERS, labels=[])
    upper.set_yticks(QUARTERS)
    lower.set_xticks(QUARTERS)
    return figure


def spread_figures(title: str, groups: Sequence[Group], styles: Sequence[LineStyle]) -> list[PageFigure]:
    """A regression's figures: predicted against observed error per group, and the coverage of all groups."""
    drawn = [(group, style) for group, style in zip(groups, styles, strict=True) if spread_stages(group)]
    if not drawn:
        return []
    both = any(len(spread_stages(group)) == 2 for group, _ in drawn)
    coverage = PageFigure(
        page_svg(_coverage_diagram(drawn)),
        f"Share of targets inside the predicted intervals on {title}",
        "Do intervals hold what they promise?",
        "Below the dashed line the predicted spread is too small. Colours as in the learning curves"
        f"{'; pale before, full after variance scaling' if both else ''}.",
    )
    return [*(_spread_figure(group) for group, _ in drawn), coverage]


def spread_stages(group: Group) -> dict[int, str]:
    """The stages (0 before, 1 after scaling) at which all seeds predict a standard deviation, by name."""
    names = (BEFORE, group.after)[: min(len(run.spreads) for run in group.runs)]
    return {
        stage: name
        for stage, name in enumerate(names)
        if all(bool((run.spreads[stage].std > 0).any()) for run in group.runs)
    }


def _spread_figure(group: Group) -> PageFigure:
    """Observed against predicted error, before and after variance scaling."""
    stages = spread_stages(group)
    numbers = {stage: group.metric(name, "ence") for stage, name in stages.items()}
    curves = [
        spread_curve(*pooled_spread(group, stage), ence=ence.mean, seeds=len(group.runs))
        for stage, ence in numbers.items()
    ]
    ence = ", ".join(f"{stages[stage]} {mean_text(one, 100)} %" for stage, one in numbers.items())
    return PageFigure(
        page_svg(spread_diagram(*curves)),
        f"Observed against predicted error of {group.label}, ENCE {ence}",
        group.label,
        " ".join([f"ENCE {ence}.", *_spread_verdicts(group)]),
    )


def _spread_verdicts(group: Group) -> list[str]:
    found = {
        name: verdict_on_spread(*pooled_spread(group, stage), seeds=len(group.runs))
        for stage, name in spread_stages(group).items()
    }
    return [f"{name.capitalize()}: {one.text}" for name, one in found.items() if one is not None]


def pooled_spread(group: Group, stage: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Mean, standard deviation and target of all seeds, (n,) each."""
    found = [run.spreads[stage] for run in group.runs]
    mean, std, targets = (
        torch.cat([getattr(one, name).reshape(-1) for one in found]) for name in ("mean", "std", "targets")
    )
    return mean, std, targets


def observed_coverage(group: Group, stage: int = 0) -> NDArray[np.float64]:
    """Share of targets inside the central interval of N(mean, std²), at each of LEVELS."""
    mean, std, targets = pooled_spread(group, stage)
    inside = torch.special.ndtri(torch.from_numpy((1 + LEVELS) / 2))
    found = ((targets - mean).abs()[:, None] <= inside * std[:, None]).double().mean(0)
    return np.asarray(found.numpy())


def _coverage_diagram(groups: Sequence[tuple[Group, LineStyle]]) -> Figure:
    """Draw the share of targets inside an interval against the share that it should hold."""
    figure = new_figure(4.6, 4.0)
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], **DIAGONAL)
    for group, style in groups:
        stages = list(spread_stages(group))
        for stage in stages:
            (line,) = axes.plot(LEVELS, observed_coverage(group, stage), linewidth=1.8)
            line.set(color=style.colour, linestyle=style.linestyle, alpha=1 if stage == stages[-1] else 0.4)
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="share that the interval should hold", ylabel="share it holds")
    plain_axes(axes)
    percent_axis(axes.xaxis)
    percent_axis(axes.yaxis)
    return figure


def density_figures(groups: Sequence[Group]) -> list[PageFigure]:
    """The density of the mixing coefficient of each method in use; equal coefficients once."""
    found: dict[str, tuple[str, str, Any]] = {}
    for method in (group.method for group in groups):
        options = {key: value for key, value in method.items() if key != "name"}
        coefficients = _coefficients(method["name"], options)
        if coefficients is not None:
            title, settings = method_title(method["name"]), settings_text(options) or "defaults"
            found.setdefault(repr(coefficients), (title, settings, coefficients))
    densities = [(title, settings, coefficient_density(one)) for title, settings, one in found.values()]
    return [
        PageFigure(
            page_svg(_density_diagram(density)),
            f"Heat map: density of the mixing coefficient of {title} ({settings}) against distance",
            title,
            settings,
        )
        for title, settings, density in densities
        if density is not None
    ]


def _coefficients(name: str, options: dict[str, Any]) -> Coefficients | None:
    """Those of a published method; None for plug-ins, and for options that this version does not take."""
    if name not in METHODS:
        return None
    try:
        return build_method(name, **options).coefficients
    except (ValueError, TypeError):
        return None


def _density_diagram(density: NDArray[np.float64]) -> Figure:
    figure = new_figure(4.4, 3.4)
    axes = figure.add_subplot()
    image = draw_heat_map(axes, density, FARTHEST)
    axes.set_ylabel("mixing coefficient λ")
    bar = figure.colorbar(image, ax=axes, pad=0.02, ticks=[0.1, 1, 10], format="%g")
    bar.outline.set_visible(False)
    for each in (axes, bar.ax):
        plain_axes(each)
        each.grid(False)
    return figure
