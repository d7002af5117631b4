"""Risk–coverage: how wrong a model is on the share of points that it is surest of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailormix.reports.style import (
    BLUE,
    INK,
    ORANGE,
    QUIET,
    corner_note,
    new_figure,
    percent_axis,
    plain_axes,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailormix.reports.curves import RiskCurve


def risk_coverage_diagram(
    curve: RiskCurve,
    after: RiskCurve | None = None,
    *,
    labels: tuple[str, str] = ("before", "after temperature"),
) -> Figure:
    """Draw risk against coverage, the order that knows all errors, and the risk without any choice."""
    figure = new_figure(5.0, 4.2)
    axes = figure.add_subplot()
    curves = [curve] if after is None else [curve, after]
    names = ("model",) if after is None else labels
    looks = ((BLUE, "-", 2.2), (ORANGE, (0, (6, 2)), 1.8))
    for one, name, (colour, dash, width) in zip(curves, names, looks, strict=False):
        axes.plot(one.coverage, one.risk, color=colour, linestyle=dash, linewidth=width, label=name, zorder=3)
    axes.plot(
        curve.coverage, curve.best, color=QUIET, linestyle=":", linewidth=1.6, label="best order", zorder=2
    )
    axes.axhline(float(curve.risk[-1]), color=INK, linewidth=0.9, linestyle=(0, (1, 2)), label="all points")
    top = 1.3 * max(float(one.risk.max()) for one in curves)
    axes.set(
        xlim=(0, 1),
        ylim=(0, top or 1),
        xlabel="coverage: share of points kept",
        ylabel=f"risk: {curve.risk_name}",
    )
    plain_axes(axes)
    percent_axis(axes.xaxis)
    if curve.risk_name == "error rate":
        percent_axis(axes.yaxis)
    text = [f"area {name} {one.area:.4g}" for one, name in zip(curves, names, strict=True)]
    corner_note(axes, "\n".join(text), where="lower right")
    axes.legend(fontsize=8.5, frameon=False, loc="upper left", ncols=2)
    return figure
