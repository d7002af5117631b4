"""What a study found: the paper's own choice, and sensitivity."""

import json

import optuna
import pytest
from optuna.distributions import CategoricalDistribution
from optuna.trial import TrialState, create_trial

from tailormix.experiments.tuning.objective import score
from tailormix.experiments.tuning.space import Dimension
from tailormix.experiments.tuning.summary import as_dict, sensitivity

#: τ_std, accuracy and ECE after temperature of the paper's cross-validation table, in percent
CIFAR10 = [(0.25, 95.18, 0.97), (0.4, 95.23, 1.42), (0.5, 95.37, 2.08), (0.6, 95.45, 1.99)]
CIFAR10 += [(0.75, 95.57, 2.05), (0.8, 95.44, 2.07), (1, 95.57, 2.05), (1.25, 95.46, 2.25)]
CIFAR10 += [(1.5, 95.29, 2.36), (2, 94.93, 2.43)]
CIFAR100 = [(0.25, 77.74, 1.77), (0.4, 78.26, 2.4), (0.5, 78.37, 3.61), (0.6, 78.29, 4.08), (0.75, 78, 3.91)]
CIFAR100 += [(0.8, 78.03, 4.27), (1, 77.35, 3.4), (1.25, 77.31, 3.88), (1.5, 77.92, 4.06)]


def from_table(rows: list[tuple[float, float, float]]) -> optuna.Study:
    study = optuna.create_study(direction="maximize")
    choices = {"method.tau_std": CategoricalDistribution([row[0] for row in rows])}
    for tau_std, accuracy, ece in rows:
        metrics = {"accuracy": accuracy, "ts_ece": ece}
        value, params = score("trade-off", metrics), {"method.tau_std": tau_std}
        found = {"scores": [value], "metrics": metrics}
        study.add_trial(create_trial(value=value, params=params, distributions=choices, user_attrs=found))
    return study


@pytest.mark.parametrize("table", [CIFAR10, CIFAR100])
def test_the_papers_own_table_gives_the_papers_choice(table: list[tuple[float, float, float]]) -> None:
    assert from_table(table).best_params == {"method.tau_std": 0.25}


def test_sensitivity_is_the_mean_over_settings() -> None:
    trials = [{"values": {"a": a}, "score": score} for a, score in [(1, 2.0), (1, 4.0), (9, 5.0)]]
    trials.append({"values": {"a": 1}, "error": "failed before its first fold"})
    choices = sensitivity(trials, Dimension("a", (1, 5, 9)))
    assert choices == [{"value": "1", "mean": 3.0, "trials": 2}, {"value": "9", "mean": 5.0, "trials": 1}]
    bins = sensitivity(trials, Dimension("a", low=0, high=9))
    assert [(level["value"], level["mean"]) for level in bins] == [("0.9..1.8", 3.0), ("8.1..9", 5.0)]


def test_trials_survive_json() -> None:
    attributes = {"scores": [0.5, 0.7], "metrics": {"nll": 0.6}}
    row = as_dict(create_trial(state=TrialState.PRUNED, user_attrs=attributes))
    assert json.loads(json.dumps(row)) == row
    assert (row["state"], row["score"]) == ("pruned", pytest.approx(0.6))
    assert row["std"] == pytest.approx(0.1 * 2**0.5)
