"""The validation split after each epoch: what the best weights are chosen by.

Only a run that imitates the released protocol chooses by the test split, and its result says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailormix.metrics.expected_calibration import ece
from tailormix.metrics.scores import accuracy, nll

from .predicting import agree_on_buffers, outputs

if TYPE_CHECKING:
    from lightning_fabric import Fabric
    from torch import Tensor

    from tailormix.data import Split

    from .parts import Parts
    from .settings import Settings


def validate(parts: Parts, fabric: Fabric, settings: Settings) -> tuple[dict[str, float], float | None]:
    """Metrics on the split that selects, and the score: accuracy, or minus the squared error.

    A data set without a validation split has no score: its last epoch is kept, never one that the test split
    chose.
    """
    split: Split = getattr(parts.data, selecting_split(settings))
    agree_on_buffers(parts.model, fabric)
    if len(split) == 0:
        return {}, None
    found = outputs(parts.model, split, fabric, settings)
    if parts.data.task == "regression":
        error = mean_squared_error(found, split.targets.cpu())
        return {"mse": error}, -error
    metrics = class_metrics(found, split.targets.cpu())
    return metrics, metrics["accuracy"]


def selecting_split(settings: Settings) -> str:
    """The split that selects weights and fits the temperature.

    >>> from tailormix.training.settings import Settings
    >>> selecting_split(Settings()), selecting_split(Settings(imitate="released-protocol"))
    ('validation', 'test')
    """
    return "test" if settings.imitate else "validation"


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
