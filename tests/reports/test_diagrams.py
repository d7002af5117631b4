"""Diagrams: what is drawn, and in which formats."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from support_metrics import classifier, regressor
from tailormix.metrics import Interval, interval
from tailormix.reports import (
    before_after_diagram,
    reliability_curve,
    reliability_diagram,
    risk_coverage_diagram,
    spread_curve,
    spread_diagram,
)
from tailormix.reports.curves import regression_risk
from tailormix.reports.style import BAND, BLUE, INK, ORANGE, image_bytes, percent_axis
from tailormix.reports.verdict import verdict_on_classes


def curve(scale: float = 1.0):
    logits, targets = classifier(300)
    found = interval("ece", logits * scale, targets, from_logits=True, resamples=50)
    return reliability_curve(logits * scale, targets, from_logits=True, ece=found)


def test_shares_have_each_label_once_and_none_beyond_all() -> None:
    figure = Figure()
    axes = figure.subplots()
    percent_axis(axes.yaxis)
    axes.set(yticks=[-0.1, 0.0, 0.975, 0.98, 1.0, 1.02])
    figure.canvas.draw()
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "-10 %",
        "0 %",
        "97.5 %",
        "98 %",
        "100 %",
        "",
    ]


def test_reliability_has_three_layers() -> None:
    """The band, the gap from confidence to accuracy in the colour of its side, and the accuracy as a mark."""
    one = curve()
    figure = reliability_diagram(one)
    upper, lower = figure.axes
    parts = {container.get_label(): container for container in upper.containers}
    assert set(parts) == {"95 % band if calibrated", "too sure", "too modest", "accuracy, 95 % interval"}
    full = one.count > 0
    line, _, (whiskers,) = parts["accuracy, 95 % interval"]
    assert line.get_ydata() == pytest.approx(one.accuracy[full])
    ends = np.array([path.vertices[:, 1] for path in whiskers.get_paths()])
    assert ends == pytest.approx(np.stack([one.low[full], one.high[full]], axis=1))
    band = [(bar.get_y(), bar.get_y() + bar.get_height()) for bar in parts["95 % band if calibrated"]]
    assert np.array(band) == pytest.approx(np.stack([one.band_low[full], one.band_high[full]], axis=1))
    for name, side in (
        ("too sure", one.accuracy < one.confidence),
        ("too modest", one.accuracy > one.confidence),
    ):
        ends = [(bar.get_y(), bar.get_y() + bar.get_height()) for bar in parts[name]]
        assert np.array(ends) == pytest.approx(np.stack([one.confidence[side], one.accuracy[side]], axis=1))
    assert [bar.get_height() for bar in lower.containers[0]] == pytest.approx(one.count / one.count.sum())
    assert (upper.get_ylabel(), lower.get_xlabel()) == ("accuracy", "confidence")


def test_the_title_is_the_verdict_with_ece_and_covers_nothing() -> None:
    one = curve()
    upper, _ = reliability_diagram(one).axes
    said = upper.get_title("left").replace("\n", " ")
    assert said.startswith(str(verdict_on_classes(one)))
    assert said.endswith(
        f"ECE {100 * one.ece.value:.1f} % [{100 * one.ece.low:.1f}, {100 * one.ece.high:.1f}]"
    )
    assert len(upper.texts) == 0
    assert upper.get_legend() is None


def test_the_area_of_a_gap_is_its_share_of_ece() -> None:
    """Bins of 30 and 10 samples: 0.3 · (0.9 - 0.6) and 0.1 · (0.6 - 0.3), that is 3 : 1."""
    p = np.array([[0.1, 0.9]] * 30 + [[0.4, 0.6]] * 10)
    right = np.array([1] * 18 + [0] * 12 + [1] * 3 + [0] * 7)
    upper, _ = reliability_diagram(reliability_curve(p, right)).axes
    (gaps,) = (part for part in upper.containers if part.get_label() == "too sure")
    small, large = (abs(bar.get_height() * bar.get_width()) for bar in gaps)
    assert large == pytest.approx(3 * small)


def test_before_and_after_share_their_scale() -> None:
    axes = before_after_diagram(curve(), curve(0.5)).axes
    assert len(axes) == 4
    assert axes[1].get_ylim() == axes[3].get_ylim()
    assert axes[0].get_title("left").startswith("Before: too sure")
    assert axes[2].get_title("left").startswith("After temperature scaling: too modest")


def test_spread_and_risk_have_their_numbers_outside_the_axes() -> None:
    mean, std, targets = regressor(300)
    figure = spread_diagram(spread_curve(mean, std, targets, ence=Interval(0.2, 0.1, 0.3)), unit="dB")
    upper, lower = figure.axes
    assert upper.get_title("left") == "ENCE 20 % [10, 30]"
    assert "dB" in lower.get_xlabel()
    risk = regression_risk(mean, std, targets)
    other = risk_coverage_diagram(risk, risk)
    (axes,) = other.axes
    assert f"before, area {risk.area:.3g}" in [text.get_text() for text in other.legends[0].get_texts()]
    assert len(axes.lines) == 4
    for panel in (upper, lower, axes):
        assert (len(panel.texts), panel.get_legend()) == (0, None)


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_formats_are_valid_and_repeatable(kind: str) -> None:
    one = curve()
    first = image_bytes(reliability_diagram(one), kind)
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[kind]
    assert first.startswith(start)
    assert image_bytes(reliability_diagram(one), kind) == first
    if kind == "svg":
        assert ET.fromstring(first).tag.endswith("svg")


def test_colours_differ_in_grey() -> None:
    """Relative luminance of mark, gaps and band differs by 0.2 or more; the band is seen on white."""
    ink, blue, orange, band, white = (
        float(np.dot(to_rgb(colour), (0.2126, 0.7152, 0.0722)))
        for colour in (INK, BLUE, ORANGE, BAND, "white")
    )
    assert min(np.diff([ink, blue, orange, band])) > 0.2
    assert white - band > 0.1


def test_one_sample_and_one_bin_can_be_drawn() -> None:
    p, y = np.array([[0.0, 1.0]]), np.array([1])
    assert image_bytes(reliability_diagram(reliability_curve(p, y, n_bins=1)))
    assert image_bytes(spread_diagram(spread_curve(np.zeros(1), np.ones(1), np.ones(1))))
