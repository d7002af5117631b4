"""The objective: never a temperature evaluated where it was fitted, never a test row."""

from pathlib import Path

import numpy as np
import pytest
from scipy.special import log_softmax

from tailormix.calibration import TemperatureScaling
from tailormix.calibration.predictions import Predictions
from tailormix.experiments import read
from tailormix.experiments.tuning.objective import (
    Protocol,
    cross_scaled,
    fold_metrics,
    objective_of,
    protocol_of,
    score,
)


def made(n: int = 40) -> Predictions:
    draw = np.random.default_rng(0)
    targets = draw.integers(0, 3, n)
    logits = 4 * draw.normal(size=(n, 3)) + 3 * np.eye(3)[targets]
    return Predictions(logits=logits, targets=targets, ids=np.arange(n), split="validation")


def test_each_half_is_scaled_by_the_other_halfs_temperature() -> None:
    whole = made()
    even, odd = np.arange(0, 40, 2), np.arange(1, 40, 2)
    expected = 0.0
    for fitted, scaled in ((even, odd), (odd, even)):
        scaling = TemperatureScaling().fit(whole.logits[fitted], whole.targets[fitted])
        log_p = log_softmax(whole.logits[scaled] / scaling.temperature, axis=1)
        expected -= log_p[np.arange(20), whole.targets[scaled]].sum() / 40
    assert cross_scaled(whole)["nll"] == pytest.approx(expected, rel=1e-5)


def test_test_rows_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="hyper-parameters must not see them"):
        fold_metrics({"test": {}, "validation": {"before": {}}}, tmp_path)


def test_objectives_belong_to_tasks() -> None:
    assert objective_of("classification") == "trade-off"
    with pytest.raises(ValueError, match="unknown objective 'trade-off'"):
        objective_of("regression", "trade-off")
    with pytest.raises(ValueError, match="the model gives no ence: without dropout"):
        score("ence", {"rmse": 1.0})


def test_the_papers_protocol() -> None:
    assert protocol_of(read("moons")) == Protocol("classification", 4, 10)
    assert protocol_of(read("moons"), "2") == Protocol("classification", 2, 10)
    assert protocol_of(read("moons"), "2/5").names == ("1/5", "2/5")
    for wrong in ("0", "11", "3/2", "x", "1/1"):
        with pytest.raises(ValueError, match="splits must be a number up to 10, or like 4/10"):
            protocol_of(read("moons"), wrong)
