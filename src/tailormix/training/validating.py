"""The validation split after each epoch: what the best weights are chosen by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailormix.metrics.expected_calibration import ece
from tailormix.metrics.scores import accuracy, nll

from .predicting import agree_on_buffers, outputs

if TYPE_CHECKING:
    from lightning_fabric import Fabric
    from torch import Tensor

    from .parts import Parts
    from .settings import Settings


def validate(parts: Parts, fabric: Fabric, settings: Settings) -> tuple[dict[str, float], float | None]:
    """Metrics on the validation split, and the score that selects: accuracy, or minus the squared error.

    A data set without a validation split has no score: its last epoch is kept, never one that the test split
    chose.
    """
    split = parts.data.validation
    agree_on_buffers(parts.model, fabric)
    if len(split) == 0:
        return {}, None
    found = outputs(parts.model, split, fabric, settings)
    if parts.data.task == "regression":
        error = mean_squared_error(found, split.targets.cpu())
        return {"mse": error}, -error
    metrics = class_metrics(found, split.targets.cpu())
    return metrics, metrics["accuracy"]


def class_metrics(logits: Tensor, targets: Tensor) -> dict[str, float]:
    """Accuracy, NLL and ECE."""
    found = {"accuracy": accuracy, "nll": nll, "ece": ece}
    return {name: float(metric(logits, targets, from_logits=True)) for name, metric in found.items()}


def mean_squared_error(mean: Tensor, targets: Tensor) -> float:
    """Mean of (ŷ - y)² over rows and outputs, in float64.

    >>> import torch
    >>> mean_squared_error(torch.zeros(2, 1), torch.tensor([[1.0], [3.0]]))
    5.0
    """
    return float((mean.double() - targets.double()).square().mean())
