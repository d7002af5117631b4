"""The objective selects as the paper did, and never judges a temperature where it was fitted."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import log_softmax

from tailormix.calibration import TemperatureScaling
from tailormix.calibration.predictions import Predictions
from tailormix.experiments.tuning.findings import Finding, best_of, pareto, sensitivity
from tailormix.experiments.tuning.objective import cross_scaled, fold_metrics, objective_of, score
from tailormix.experiments.tuning.space import Dimension

#: τ_std, accuracy and ECE after temperature of the paper's cross-validation table, in percent
CIFAR10 = [
    (0.25, 95.18, 0.97),
    (0.4, 95.23, 1.42),
    (0.5, 95.37, 2.08),
    (0.6, 95.45, 1.99),
    (0.75, 95.57, 2.05),
]
CIFAR10 += [(0.8, 95.44, 2.07), (1, 95.57, 2.05), (1.25, 95.46, 2.25), (1.5, 95.29, 2.36), (2, 94.93, 2.43)]
CIFAR100 = [(0.25, 77.74, 1.77), (0.4, 78.26, 2.4), (0.5, 78.37, 3.61), (0.6, 78.29, 4.08), (0.75, 78, 3.91)]
CIFAR100 += [(0.8, 78.03, 4.27), (1, 77.35, 3.4), (1.25, 77.31, 3.88), (1.5, 77.92, 4.06)]


def from_table(rows: list[tuple[float, float, float]]) -> list[Finding]:
    found = []
    for number, (tau_std, accuracy, ece) in enumerate(rows):
        metrics = {"accuracy": accuracy, "ts_ece": ece}
        value = score("trade-off", metrics)
        found.append(Finding(number, {"method.tau_std": tau_std}, "complete", [value], metrics))
    return found


@pytest.mark.parametrize("table", [CIFAR10, CIFAR100])
def test_the_papers_own_table_gives_the_papers_choice(table: list[tuple[float, float, float]]) -> None:
    best = best_of(from_table(table), "trade-off")
    assert best is not None
    assert best.values == {"method.tau_std": 0.25}


def test_no_setting_of_the_front_is_beaten() -> None:
    """By hand, of CIFAR-100's rows: 0.5 has the best accuracy, 0.4 less of both, 0.25 the best ECE."""
    front = pareto(from_table(CIFAR100), ("accuracy", "ts_ece"))
    assert [each.values["method.tau_std"] for each in front] == [0.5, 0.4, 0.25]


def test_levels_are_means_over_settings() -> None:
    found = [Finding(k, {"a": a}, "complete", [s]) for k, (a, s) in enumerate([(1, 2.0), (1, 4.0), (9, 5.0)])]
    assert [level.mean for level in sensitivity(found, Dimension("a", (1, 5, 9)))] == [3.0, 5.0]
    binned = sensitivity(found, Dimension("a", low=0, high=9))
    assert [(level.label, level.mean) for level in binned] == [("0.9..1.8", 3.0), ("8.1..9", 5.0)]


def made(n: int = 40) -> Predictions:
    draw = np.random.default_rng(0)
    targets = draw.integers(0, 3, n)
    logits = 4 * draw.normal(size=(n, 3)) + 3 * np.eye(3)[targets]
    return Predictions(logits=logits, targets=targets, ids=np.arange(n), split="validation")


def test_each_half_is_scaled_by_the_other_halfs_temperature() -> None:
    whole = made()
    even, odd = np.arange(0, 40, 2), np.arange(1, 40, 2)
    expected = 0.0
    for fitted, judged in ((even, odd), (odd, even)):
        scaling = TemperatureScaling().fit(whole.logits[fitted], whole.targets[fitted])
        log_p = log_softmax(whole.logits[judged] / scaling.temperature, axis=1)
        expected -= log_p[np.arange(20), whole.targets[judged]].sum() / 40
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


def test_findings_survive_json() -> None:
    row = Finding(1, {"a": 1}, "pruned", [0.5, 0.7], {"nll": 0.6}).as_dict()
    assert json.loads(json.dumps(row)) == row
    assert row["std"] == pytest.approx(0.1 * 2**0.5)
