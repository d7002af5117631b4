"""What tuning optimises, and on which folds.

For classes the default is the paper's trade-off of accuracy and calibration, here accuracy - ECE after
temperature scaling: of the simple trade-offs it is the one that selects τ_std = 0.25 in the paper's own
cross-validation table, for CIFAR-10 and CIFAR-100. The temperature is never evaluated on the rows it was
fitted on: each half of the validation rows is scaled by the temperature of the other (metrics ``ts_...``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tailormix import checks
from tailormix.calibration.predictions import load_predictions
from tailormix.calibration.temperature import TemperatureScaling
from tailormix.data.series import WindowSplit
from tailormix.experiments.building import load_data
from tailormix.metrics.classification import summary
from tailormix.training.evaluating import FILES
from tailormix.training.settings import Choice

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tailormix.calibration.predictions import Predictions
    from tailormix.data.splits import Task
    from tailormix.experiments.experiment import Experiment


TRADE_OFF = "trade-off"
_CLASSES = ("accuracy", "nll", "brier", "ece", "aece", "classwise_ece", "debiased_ece", "mce", "aurc")
_SCALED = tuple(f"ts_{name}" for name in _CLASSES if name != "accuracy")
#: by task; the first is the default
OBJECTIVES: dict[Task, tuple[str, ...]] = {
    "classification": (TRADE_OFF, *_CLASSES, *_SCALED),
    "regression": ("rmse", "mae", "mape", "gaussian_nll", "uce", "ence"),
}
#: accuracy and calibration, the two axes of the trade-off; the first is an error where targets are real
AXES: dict[Task, tuple[str, str]] = {"classification": ("accuracy", "ts_ece"), "regression": ("rmse", "ence")}


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


def protocol_of(experiment: Experiment, splits: str | None = None) -> Protocol:
    """The paper's protocol: 4 splits of 90/10 for classes, 5 folds for tables, 4 for series.

    ``splits`` changes the numbers: ``2`` for the first 2 of these folds, ``3/5`` for the first 3 of 5.
    """
    options = {key: value for key, value in experiment.data.options.items() if key != "fold"}
    loaded = load_data(replace(experiment, data=Choice(experiment.data.name, options)))
    if loaded.task == "classification":
        number, folds = 4, 10
    else:
        number = folds = 4 if isinstance(loaded.train, WindowSplit) else 5
    if splits is not None:
        matched = re.fullmatch(r"([0-9]+)(?:/([0-9]+))?", splits)
        default = folds
        number, folds = (int(matched[1]), int(matched[2] or default)) if matched else (0, 0)
        if not (1 <= number <= folds and folds >= 2):
            raise ValueError(
                f"splits must be a number up to {default}, or like 4/10 for the first 4 of 10 folds, "
                f"got {splits!r}"
            )
    return Protocol(loaded.task, number, folds)


def objective_of(task: Task, name: str | None = None) -> str:
    """The objective's name, checked against the task; by default the trade-off, or the RMSE.

    >>> objective_of("regression"), objective_of("classification", "nll")
    ('rmse', 'nll')
    """
    return OBJECTIVES[task][0] if name is None else checks.known("objective", name, OBJECTIVES[task])


def direction(name: str) -> Literal["maximize", "minimize"]:
    """Whether a metric is to ``maximize`` or to ``minimize``, as optuna says it."""
    return "maximize" if name in (TRADE_OFF, "accuracy") else "minimize"


def score(name: str, metrics: Mapping[str, float]) -> float:
    """The objective's value.

    >>> round(score("trade-off", {"accuracy": 0.95, "ts_ece": 0.01}), 6)
    0.94
    """
    if name == TRADE_OFF:
        return metrics["accuracy"] - metrics["ts_ece"]
    if name not in metrics:
        raise ValueError(f"the model gives no {name}: without dropout it predicts no standard deviation")
    return metrics[name]


def fold_metrics(result: Mapping[str, Any], run: Path) -> dict[str, float]:
    """Every validation metric of a finished run; a run that was evaluated on test rows is refused."""
    if "test" in result:
        raise ValueError(f"{run} was evaluated on test rows: hyper-parameters must not see them")
    found = dict(result["validation"]["before"])
    if result["data"]["task"] == "classification":
        scaled = cross_scaled(load_predictions(run / FILES["validation"]))
        found |= {f"ts_{name}": value for name, value in scaled.items() if name != "accuracy"}
    return found


def cross_scaled(predictions: Predictions) -> dict[str, float]:
    """Metrics after temperature scaling, each half of the rows with the temperature of the other half."""
    even, odd = (
        replace(
            predictions,
            logits=predictions.logits[first::2],
            targets=predictions.targets[first::2],
            ids=predictions.ids[first::2],
        )
        for first in (0, 1)
    )
    scaled = [TemperatureScaling().fit(a).transform(b) for a, b in ((even, odd), (odd, even))]
    logits, targets = (np.concatenate([getattr(p, name) for p in scaled]) for name in ("logits", "targets"))
    return summary(logits, targets, from_logits=True)
