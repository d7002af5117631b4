"""After training: the best weights on validation and test, before and after calibration on validation.

A run that imitates the released protocol calibrates on the test split instead, and its result says so.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from tailormix.metrics.point_errors import mae, mape, rmse
from tailormix.metrics.summaries import regression_summary, summary
from tailormix.posthoc.temperature import TemperatureScaling
from tailormix.prediction_files import save_predictions
from tailormix.predictions import Predictions

from .predicting import has_dropout, monte_carlo, outputs
from .validating import selecting_split

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from lightning_fabric import Fabric

    from .parts import Parts
    from .settings import Settings

#: the test split has the name that ``tailormix evaluate FOLDER`` looks for
FILES = {"validation": "validation.npz", "test": "predictions.npz"}


def judge(parts: Parts, fabric: Fabric, settings: Settings, path: Path) -> dict[str, Any]:
    """Write predictions of the splits that have rows, and return their metrics by split."""
    splits = {"validation": parts.data.validation, "test": parts.data.test}
    found = {name: predicted(parts, name, fabric, settings) for name, split in splits.items() if len(split)}
    if fabric.is_global_zero:
        for name, predictions in found.items():
            save_predictions(path / FILES[name], predictions)
    measured: dict[str, Any] = {name: {"before": measure(p)} for name, p in found.items()}
    if parts.data.task == "classification" and selecting_split(settings) in found:
        measured["temperature"], after = scaled(found, settings)
        for name, metrics in after.items():
            measured[name]["after temperature"] = metrics
    return measured


def scaled(found: Mapping[str, Predictions], settings: Settings) -> tuple[dict[str, Any], dict[str, Any]]:
    """Fit the temperature on the split that selects; its record, and every split's metrics after it.

    Metrics of the very points it was fitted on say how well it can fit, no more; for validation that is what
    the paper's cross-validation reports.
    """
    imitate, source = settings.imitate or None, selecting_split(settings)
    scaling = TemperatureScaling().fit(found[source], imitate=imitate)
    record = {
        "value": scaling.temperature,
        "status": scaling.fitted.status,
        "fitted on": scaling.provenance.as_dict(),
    }
    own = {source: measure(replace(found[source], logits=found[source].logits / scaling.temperature))}
    rest = {
        name: measure(scaling.transform(p, imitate=imitate)) for name, p in found.items() if name != source
    }
    return record, own | rest


def predicted(parts: Parts, name: str, fabric: Fabric, settings: Settings) -> Predictions:
    """Logits of a classifier, mean and standard deviation of a regression, with targets and ids."""
    split = getattr(parts.data, name)
    rows = {"targets": split.targets.cpu(), "ids": split.ids.cpu(), "split": name}
    if parts.data.task == "classification":
        return Predictions(logits=outputs(parts.model, split, fabric, settings), **rows)
    if has_dropout(parts.model):
        mean, std = monte_carlo(parts.model, split, fabric, settings)
    else:
        mean = outputs(parts.model, split, fabric, settings)
        std = torch.zeros_like(mean)
    return Predictions(mean=mean, std=std, **rows)


def measure(predictions: Predictions) -> dict[str, float]:
    """Every metric of the task; without dropout there is no spread, and only errors are measured."""
    if predictions.task == "classification":
        return summary(predictions.logits, predictions.targets, from_logits=True)
    if bool((predictions.std > 0).any()):
        return regression_summary(predictions.mean, predictions.std, predictions.targets)
    errors = {"rmse": rmse, "mae": mae, "mape": mape}
    return {name: error(predictions.mean, predictions.targets) for name, error in errors.items()}
