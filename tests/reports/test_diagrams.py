"""Diagrams: what is drawn, and in which formats."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from matplotlib.colors import to_rgb

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
from tailormix.reports.style import BAND, BLUE, ORANGE, image_bytes


def texts(axes) -> str:
    return " ".join(text.get_text() for text in axes.texts)


def curve(scale: float = 1.0):
    logits, targets = classifier(300)
    found = interval("ece", logits * scale, targets, from_logits=True, resamples=50)
    return reliability_curve(logits * scale, targets, from_logits=True, ece=found)


def test_reliability_has_all_its_parts() -> None:
    one = curve()
    upper, lower = reliability_diagram(one, title="Model").axes
    labels = {container.get_label() for container in upper.containers}
    assert labels == {"accuracy", "gap to confidence", "95 % band if calibrated"}
    assert f"ECE {100 * one.ece.value:.1f} % [{100 * one.ece.low:.1f}, {100 * one.ece.high:.1f}]" in texts(
        upper
    )
    heights = [bar.get_height() for bar in upper.containers[0]]
    assert heights == pytest.approx(one.accuracy[one.count > 0])
    tops = [bar.get_y() + bar.get_height() for bar in upper.containers[1]]
    assert tops == pytest.approx(one.confidence[one.count > 0])
    assert [bar.get_height() for bar in lower.containers[0]] == pytest.approx(one.count / one.count.sum())
    assert (upper.get_ylabel(), lower.get_xlabel()) == ("accuracy", "confidence")


def test_before_and_after_share_their_scale() -> None:
    axes = before_after_diagram(curve(), curve(0.5)).axes
    assert len(axes) == 4
    assert axes[1].get_ylim() == axes[3].get_ylim()
    assert [axes[0].get_title("left"), axes[2].get_title("left")] == ["Before", "After temperature"]


def test_spread_and_risk() -> None:
    mean, std, targets = regressor(300)
    upper, lower = spread_diagram(
        spread_curve(mean, std, targets, ence=Interval(0.2, 0.1, 0.3)), unit="dB"
    ).axes
    assert "ENCE 20.0 % [10.0, 30.0]" in texts(upper)
    assert "dB" in lower.get_xlabel()
    risk = regression_risk(mean, std, targets)
    axes = risk_coverage_diagram(risk, risk).axes[0]
    assert f"area before {risk.area:.4g}" in texts(axes)
    assert len(axes.lines) == 4


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
    """Relative luminance of neighbouring parts differs by at least 0.2."""
    colours = to_rgb(BLUE), to_rgb(ORANGE), to_rgb("white"), to_rgb(BAND)
    *light, band = (float(np.dot(colour, (0.2126, 0.7152, 0.0722))) for colour in colours)
    assert min(np.diff(sorted(light))) > 0.2
    assert band - min(light) > 0.2


def test_one_sample_and_one_bin_can_be_drawn() -> None:
    p, y = np.array([[0.0, 1.0]]), np.array([1])
    assert image_bytes(reliability_diagram(reliability_curve(p, y, n_bins=1)))
    assert image_bytes(spread_diagram(spread_curve(np.zeros(1), np.ones(1), np.ones(1))))
