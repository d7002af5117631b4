"""How agreement against distance is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailormix.reports.style import BLUE, ORANGE, QUIET, new_figure, percent_axis, plain_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tailormix.metrics.mismatch import AgreementCurve

    Curves = dict[str, AgreementCurve]

TITLES = {
    "unmixed": "first image alone, λ = 1",
    "uniform": "λ uniform",
    "similarity-kernel": "λ of the similarity kernel",
}


def draw_panels(panels: list[tuple[str, Curves]], coefficients: str) -> Figure:
    """One panel a model, on the same axes; the law in question stands out."""
    figure = new_figure(0.9 + 4.2 * len(panels), 3.9)
    every = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, (title, curves) in zip(every, panels, strict=True):
        _draw(axes, curves, coefficients)
        axes.set_title(title, fontsize=11, loc="left")
    every[0].set_ylabel("predicted class is one of the two")
    handles, labels = every[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8.5, frameon=False)
    return figure


def _draw(axes: Axes, curves: Curves, coefficients: str) -> None:
    looks: dict[str, tuple[str, Any]] = {
        "similarity-kernel": (ORANGE, "-"),
        "uniform": (BLUE, "-" if coefficients == "uniform" else (0, (5, 2))),
        "unmixed": (QUIET, (0, (1, 1.5))),
    }
    for law in (law for law in looks if law != "similarity-kernel" or coefficients == law):
        curve, (colour, dash) = curves[law], looks[law]
        marker = "o" if law == coefficients else None
        axes.plot(
            curve.distance,
            curve.agreement,
            color=colour,
            linestyle=dash,
            marker=marker,
            markersize=4.5,
            markeredgecolor="white",
            markeredgewidth=0.6,
            linewidth=1.8,
            label=TITLES[law],
            zorder=4 if marker else 3,
        )
        if law != "unmixed":
            axes.fill_between(
                curve.distance, curve.low, curve.high, color=colour, alpha=0.18, linewidth=0, zorder=2
            )
    axes.set(xlabel="distance of the pair, d̄  (1 = average)", xlim=(0, None))
    plain_axes(axes)
    percent_axis(axes.yaxis)
