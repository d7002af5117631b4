"""The picture of how a metric depends on a hyper-parameter."""

from tailormix.reports.sensitivity import Point, mean_at, sensitivity_diagram
from tailormix.reports.style import image_bytes

POINTS = [
    Point(0.25, {"accuracy": 0.9, "ts_ece": 0.01}),
    Point(1.0, {"accuracy": 0.8, "ts_ece": 0.03}),
    Point(1.0, {"accuracy": 0.6, "ts_ece": 0.05}),
    Point(2.0, {"accuracy": 0.1}, complete=False),
]


def test_panels_dots_and_means() -> None:
    """Two panels; the setting given up early is a hollow dot and changes no mean."""
    figure = sensitivity_diagram(POINTS, "method.tau_std", ["accuracy", "ts_ece"], log=True)
    first, second = figure.axes
    full, hollow = first.collections
    assert [tuple(dot) for dot in full.get_offsets()] == [(0.25, 0.9), (1.0, 0.8), (1.0, 0.6)]
    assert [tuple(dot) for dot in hollow.get_offsets()] == [(2.0, 0.1)]
    (line,) = first.lines
    assert list(line.get_xdata()) == [0.25, 1.0]
    assert [round(float(y), 6) for y in line.get_ydata()] == [0.9, 0.7]
    assert (first.get_xlabel(), first.get_ylabel(), first.get_xscale()) == ("τ_std", "accuracy", "log")
    assert len(second.collections[1].get_offsets()) == 0
    assert image_bytes(figure, "svg").startswith(b"<?xml")
    assert list(mean_at(POINTS[::-1], "accuracy")) == [0.25, 1.0, 2.0]
