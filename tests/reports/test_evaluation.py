"""Evaluations: equal to the functions, guarded, and shown on a page."""

import json

import numpy as np
import pytest

from helpers import run_python
from support_calibration import gaussian, split
from support_metrics import classifier
from tailormix import metrics
from tailormix.calibration import TemperatureScaling
from tailormix.calibration.predictions import LeakError, Predictions
from tailormix.reports import Settings, evaluate, evaluation_page
from tailormix.reports.evaluation import table_rows

QUICK = Settings(resamples=40)


def test_classification_before_and_after_equal_the_functions() -> None:
    test, val = split("test", ids=range(200, 400), seed=1), split("val", ids=range(200))
    found = evaluate(test, val, settings=QUICK)
    scaled = TemperatureScaling().fit(val).transform(test.logits)
    expected = metrics.summary(test.logits, test.targets, from_logits=True)
    assert {name: one.value for name, one in found.before.items()} == pytest.approx(expected)
    after = metrics.summary(scaled, test.targets, from_logits=True)
    assert {name: one.value for name, one in found.after.items()} == pytest.approx(after)
    assert all(one.low <= one.value <= one.high for one in (*found.before.values(), *found.after.values()))
    assert found.calibration["fitted_on"]["split"] == "val"
    assert found.calibration["status"] == "converged"
    assert found.split == "test"
    json.dumps(found.as_dict(), allow_nan=False)


def test_intervals_are_those_of_the_functions() -> None:
    test = split("test")
    found = evaluate(test, settings=Settings(resamples=100, seed=4))
    for name in found.before:
        alone = metrics.interval(name, test.logits, test.targets, from_logits=True, resamples=100, seed=4)
        assert found.before[name].as_dict() == pytest.approx(alone.as_dict(), rel=1e-6)


def test_regression_before_and_after() -> None:
    test, val = (
        Predictions(mean=m, std=s, targets=y, split=name)
        for name, (m, s, y) in (("test", gaussian(300)), ("val", gaussian(300, seed=1)))
    )
    found = evaluate(test, val, settings=QUICK)
    assert {name: one.value for name, one in found.before.items()} == metrics.regression_summary(
        test.mean, test.std, test.targets
    )
    assert found.after["ence"].value < found.before["ence"].value
    assert found.after["rmse"] == found.before["rmse"]
    assert "spread" not in found.as_dict()


def test_an_undefined_metric_is_noted_not_fatal() -> None:
    found = evaluate(Predictions(mean=np.zeros(4), std=np.zeros(4), targets=np.ones(4)), settings=QUICK)
    assert np.isnan(found.before["gaussian_nll"].value)
    assert any(note.startswith("Gaussian NLL is undefined: std must be > 0") for note in found.notes)
    assert found.before["rmse"].value == 1
    assert found.as_dict()["before"]["ence"]["value"] is None
    assert any(row["before"] == "undefined" for row in table_rows(found))


def test_an_infinite_nll_is_shown() -> None:
    logits = np.array([[0.0, -np.inf], [0.0, 1.0]])
    found = evaluate(Predictions(logits=logits, targets=np.array([1, 1])), settings=QUICK)
    assert {row["title"]: row["before"] for row in table_rows(found)}["NLL"] == "inf"
    assert found.as_dict()["before"]["nll"]["value"] is None


def test_probabilities_and_binary() -> None:
    logits, targets = classifier(100)
    p = Predictions(probabilities=logits.softmax(1)[:, 0], targets=(targets == 0).long())
    found = evaluate(p, settings=Settings(resamples=20, binary="positive"))
    assert found.before["ece"].value == pytest.approx(
        metrics.ece(p.probabilities, p.targets, binary="positive")
    )
    with pytest.raises(ValueError, match="binary="):
        evaluate(p, settings=QUICK)


def test_leaks_raise_and_imitation_is_written_down() -> None:
    test, val = split("test", ids=range(200)), split("val", ids=range(100, 300), seed=1)
    with pytest.raises(LeakError, match="cannot fit on split 'test'"):
        evaluate(test, test, settings=QUICK)
    with pytest.raises(LeakError, match="100 of these 200 points"):
        evaluate(test, val, settings=QUICK)
    found = evaluate(test, test, settings=QUICK, imitate="released-protocol")
    assert found.imitates == found.as_dict()["imitates"] == "released-protocol"
    assert found.as_dict()["calibration"]["fitted_on"]["imitates"] == "released-protocol"
    assert "Imitates “released-protocol”" in evaluation_page(found)
    regression = Predictions(mean=np.zeros(9), std=np.ones(9), targets=np.arange(9.0), split="test")
    found = evaluate(regression, regression, settings=QUICK, imitate="released-protocol")
    assert found.imitates == "released-protocol"


def test_bad_pairs() -> None:
    test = split("test")
    with pytest.raises(ValueError, match="calibration must be a classification"):
        evaluate(test, Predictions(mean=np.zeros(2), std=np.ones(2), targets=np.ones(2)))
    p = Predictions(probabilities=test.logits.softmax(1), targets=test.targets)
    with pytest.raises(ValueError, match="temperature needs logits"):
        evaluate(p, split("val", seed=1))
    with pytest.raises(ValueError, match="resamples must be >= 0"):
        Settings(resamples=-1)


def test_page_is_self_contained_and_escaped() -> None:
    test = split("test<script>", ids=range(200, 400), seed=1)
    found = evaluate(test, split("val", ids=range(200)), settings=QUICK)
    page = evaluation_page(found, title="a <b> & c")
    assert page.startswith("<!doctype html>")
    assert "a &lt;b&gt; &amp; c" in page
    assert "<script" not in page
    assert page.count("<svg") == 2
    assert "Class-wise ECE" in page
    assert found.fingerprint in page
    for outside in ('src="http', 'href="http', "@import"):
        assert outside not in page


def test_progress_is_told() -> None:
    told: dict[str, tuple[int, int]] = {}
    evaluate(split("test"), settings=QUICK, progress=lambda task, *done: told.update({task: done}))
    assert (told["reading"], told["bootstrap"]) == ((200, 200), (40, 40))


def test_an_evaluation_needs_neither_plots_nor_training_packages() -> None:
    blocked = ("matplotlib", "jinja2", "lightning_fabric", "joblib", "sklearn", "pooch")
    code = f"""
import sys
sys.modules.update(dict.fromkeys({blocked}))
import numpy as np
from tailormix.calibration.predictions import Predictions
from tailormix.reports import Settings, evaluate
given = Predictions(targets=np.array([0, 1]), probabilities=np.eye(2))
print(evaluate(given, settings=Settings(resamples=0)).before["accuracy"].value)
"""
    assert run_python(code) == "1.0\n"
