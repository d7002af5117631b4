"""What tuning searches for, and on which protocol.

For classes the default is the paper's trade-off of accuracy and calibration, here accuracy - ECE after
temperature scaling: of the simple trade-offs it is the one that selects τ_std = 0.25 in the paper's own
cross-validation table, for CIFAR-10 and CIFAR-100. The temperature is never judged on the rows it was fitted
on: each half of the validation rows is scaled by the temperature of the other half (metrics ``ts_...``).
"""

from __future__ import annotations

import re
import statistics
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tailormix import checks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tailormix.calibration.predictions import Predictions
    from tailormix.data.splits import DataSplits, Task
    from tailormix.experiments.experiment import Experiment

    Metrics = Mapping[str, float]


@dataclass(frozen=True)
class Protocol:
    """The task, and ``splits`` of ``folds`` folds, each a run of its own.

    >>> Protocol("classification", 2, 10).names
    ('1/10', '2/10')
    """

    task: Task
    splits: int
    folds: int

    @property
    def names(self) -> tuple[str, ...]:
        """The values of ``data.fold``."""
        return tuple(f"{number}/{self.folds}" for number in range(1, self.splits + 1))


def published(data: DataSplits) -> Protocol:
    """The paper's protocol: 4 splits of 90/10 for classes, 5 folds for tables, 4 for series."""
    from tailormix.data.series import WindowSplit

    if data.task == "classification":
        return Protocol("classification", 4, 10)
    return (
        Protocol("regression", 4, 4) if isinstance(data.train, WindowSplit) else Protocol("regression", 5, 5)
    )


def protocol_of(experiment: Experiment, splits: str | None = None) -> Protocol:
    """The protocol for the experiment's data; ``splits`` changes their number, as ``2`` or ``3/5``."""
    from tailormix import data

    options = {key: value for key, value in experiment.data.options.items() if key != "fold"}
    found = published(data.load(experiment.data.name, seed=experiment.training.seed, **options))
    return found if splits is None else changed(found, splits)


def changed(protocol: Protocol, splits: str) -> Protocol:
    """The same with other numbers: the first ``n`` folds, or ``n/K`` of K folds.

    >>> changed(Protocol("regression", 5, 5), "2"), changed(Protocol("classification", 4, 10), "3/3").folds
    (Protocol(task='regression', splits=2, folds=5), 3)
    """
    matched = re.fullmatch(r"([0-9]+)(?:/([0-9]+))?", splits)
    number, folds = (int(matched[1]), int(matched[2] or protocol.folds)) if matched else (0, 0)
    if not (1 <= number <= folds and folds >= 2):
        raise ValueError(
            f"splits must be a number up to {protocol.folds}, or like 4/10 for the first 4 of 10 folds, "
            f"got {splits!r}"
        )
    return Protocol(protocol.task, number, folds)


TRADE_OFF = "trade-off"
_CLASSES = ("accuracy", "nll", "brier", "ece", "aece", "classwise_ece", "debiased_ece", "mce")
_SCALED = tuple(f"ts_{name}" for name in _CLASSES if name != "accuracy")
OBJECTIVES: dict[Task, tuple[str, ...]] = {
    "classification": (TRADE_OFF, *_CLASSES, *_SCALED),
    "regression": ("rmse", "mae", "mape", "gaussian_nll", "uce", "ence"),
}
LARGER_IS_BETTER = (TRADE_OFF, "accuracy")
#: accuracy and calibration, the two axes of the trade-off; the first is an error where targets are real
AXES: dict[Task, tuple[str, str]] = {"classification": ("accuracy", "ts_ece"), "regression": ("rmse", "ence")}


def objective_of(task: Task, name: str | None = None) -> str:
    """The objective's name, checked against the task; by default the trade-off, or the RMSE.

    >>> objective_of("regression"), objective_of("classification", "nll")
    ('rmse', 'nll')
    """
    return OBJECTIVES[task][0] if name is None else checks.known("objective", name, OBJECTIVES[task])


def is_larger_better(name: str) -> bool:
    """Whether the objective is maximised."""
    return name in LARGER_IS_BETTER


def score(name: str, metrics: Metrics) -> float:
    """The objective's value.

    >>> round(score("trade-off", {"accuracy": 0.95, "ts_ece": 0.01}), 6)
    0.94
    """
    if name == TRADE_OFF:
        return metrics["accuracy"] - metrics["ts_ece"]
    if name not in metrics:
        raise ValueError(f"the model gives no {name}: without dropout there is no spread to judge")
    return metrics[name]


def averaged(folds: Sequence[Metrics]) -> dict[str, float]:
    """The mean of every metric over the folds."""
    return {name: statistics.fmean(fold[name] for fold in folds) for name in folds[0]}


def fold_metrics(result: Mapping[str, Any], run: Path) -> dict[str, float]:
    """Every validation metric of a finished run; a run that was judged on test rows is refused."""
    from tailormix.calibration.predictions import load_predictions
    from tailormix.training.evaluating import FILES

    if "test" in result:
        raise ValueError(f"{run} was judged on test rows: hyper-parameters must not see them")
    found = dict(result["validation"]["before"])
    if result["data"]["task"] == "classification":
        scaled = cross_scaled(load_predictions(run / FILES["validation"]))
        found |= {f"ts_{name}": value for name, value in scaled.items() if name != "accuracy"}
    return found


def cross_scaled(predictions: Predictions) -> dict[str, float]:
    """Metrics after temperature scaling, each half of the rows with the temperature of the other half."""
    import numpy as np

    from tailormix.calibration.temperature import TemperatureScaling
    from tailormix.metrics.classification import summary

    halves = [_part(predictions, first) for first in (0, 1)]
    scaled = [
        TemperatureScaling().fit(fitted).transform(judged)
        for fitted, judged in zip(halves, reversed(halves), strict=True)
    ]
    logits, targets = (np.concatenate([getattr(p, name) for p in scaled]) for name in ("logits", "targets"))
    return summary(logits, targets, from_logits=True)


def _part(predictions: Predictions, first: int) -> Predictions:
    """Every second row."""
    rows = slice(first, None, 2)
    return replace(
        predictions,
        logits=predictions.logits[rows],
        targets=predictions.targets[rows],
        ids=predictions.ids[rows],
    )
