"""Isotonic calibration."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from support_calibration import distorted
from tailormix import metrics
from tailormix.calibration import IsotonicCalibration
from tailormix.calibration.isotonic import monotone_fit


@given(st.lists(st.tuples(st.integers(0, 12), st.booleans()), min_size=1, max_size=60))
def test_agrees_with_scikit_learn_with_ties(pairs: list[tuple[int, bool]]) -> None:
    from sklearn.isotonic import IsotonicRegression

    x, y = np.array([p[0] / 12 for p in pairs]), np.array([float(p[1]) for p in pairs])
    knots, values = monotone_fit(x, y)
    peer = IsotonicRegression(out_of_bounds="clip").fit(x, y)
    grid = np.linspace(-0.2, 1.2, 57)
    assert np.interp(grid, knots, values) == pytest.approx(peer.predict(grid), abs=1e-9)


def test_rows_are_each_class_normalised() -> None:
    from sklearn.isotonic import IsotonicRegression

    logits, targets = distorted(500, classes=3)
    p = logits.double().softmax(1).numpy()
    columns = [
        IsotonicRegression(out_of_bounds="clip").fit(p[:, c], targets.numpy() == c).predict(p[:, c])
        for c in range(3)
    ]
    expected = np.stack(columns, 1) / np.sum(columns, 0)[:, None]
    ours = IsotonicCalibration().fit(logits, targets).transform(logits)
    assert ours.numpy() == pytest.approx(expected, abs=1e-6)


def test_improves_calibration_of_new_points() -> None:
    logits, targets = distorted(6000, temperature=3.0)
    fitted = IsotonicCalibration().fit(logits[:3000], targets[:3000])
    before = metrics.classwise_ece(logits[3000:], targets[3000:], from_logits=True)
    assert metrics.classwise_ece(fitted.transform(logits[3000:]), targets[3000:]) < before / 2


def test_a_row_of_zeros_becomes_uniform() -> None:
    """Class 2 never happens; classes 0 and 1 not at their smallest probability: all maps give 0."""
    logits = torch.tensor([[9.0, 0, 0], [0, 9.0, 0], [3.0, 0, 3.0]])
    fitted = IsotonicCalibration().fit(logits, torch.tensor([0, 1, 1]))
    found = fitted.transform(torch.tensor([[0.0, 0.0, 20.0]]))
    assert found.tolist() == [pytest.approx([1 / 3] * 3)]
