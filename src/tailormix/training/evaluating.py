"""Predictions of a trained model, and what is measured on them.

Only a run that imitates the released protocol chooses by the test split, and its result says so.

A run that imitates the released protocol calibrates on the test split instead, and its result says so.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import distributed, nn

from tailormix.calibration.dropout import predict
from tailormix.calibration.predictions import Predictions, save_predictions
from tailormix.calibration.temperature import TemperatureScaling
from tailormix.metrics.classification import accuracy, ece, nll
from tailormix.metrics.regression import mae, mape, rmse
from tailormix.metrics.summary import regression_summary, summary
from tailormix.training.seeding import Stream, derive, share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from lightning_fabric import Fabric
    from torch import Tensor

    from tailormix.data.splits import Split
    from tailormix.training.loop import Parts
    from tailormix.training.settings import Settings


ROWS = 1024  # at a time: large enough for speed, small enough for a series of 321 clients


def agree_on_buffers(model: nn.Module, fabric: Fabric) -> None:
    """Give every rank the buffers of the first: running statistics of BatchNorm differ after a step."""
    if fabric.world_size > 1:
        for buffer in model.buffers():
            distributed.broadcast(buffer, 0)


@torch.no_grad()
def outputs(model: nn.Module, split: Split, fabric: Fabric, settings: Settings) -> Tensor:
    """Predictions (n, outputs) of the deterministic pass, on the CPU, in the order of the split."""
    model.eval()
    try:
        with fabric.autocast():
            mine = [model(x).float() for x in _inputs(split, fabric, settings)]
    finally:
        model.train()
    return _gathered(mine, len(split), fabric)


def monte_carlo(model: nn.Module, split: Split, fabric: Fabric, settings: Settings) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation (n, outputs) over passes with dropout; the random state is left alone."""
    means, stds = [], []
    for number, x in enumerate(_inputs(split, fabric, settings)):
        seed = derive(settings.seed, Stream.DROPOUT, number, fabric.global_rank)
        found = predict(model, x, samples=settings.mc_samples, seed=seed)
        means.append(found.mean)
        stds.append(found.std)
    return _gathered(means, len(split), fabric), _gathered(stds, len(split), fabric)


def has_dropout(model: nn.Module) -> bool:
    """Whether passes can differ at all."""
    return any(getattr(module, "p", 0) > 0 for module in model.modules() if _is_dropout(module))


def _is_dropout(module: nn.Module) -> bool:
    return isinstance(module, nn.modules.dropout._DropoutNd)


def _inputs(split: Split, fabric: Fabric, settings: Settings) -> Iterator[Tensor]:
    rows = share(torch.arange(len(split)), fabric.global_rank, fabric.world_size)
    plan = [(part, 0) for part in torch.split(rows, ROWS) if len(part)]
    return (x for x, _ in split.batches(plan, settings.workers))


def _gathered(mine: list[Tensor], rows: int, fabric: Fabric) -> Tensor:
    """All ranks' rows in their order; parts of unequal length travel padded."""
    own = torch.cat(mine) if mine else torch.empty(0)
    if fabric.world_size == 1:
        return own.cpu()
    lengths = [len(share(torch.arange(rows), rank, fabric.world_size)) for rank in range(fabric.world_size)]
    padded = own.new_zeros(max(lengths), *own.shape[1:])
    padded[: len(own)] = own
    gather: Callable[[Tensor], Tensor] = fabric.all_gather  # type: ignore[assignment]
    parts = gather(padded)
    return torch.cat([part[:length] for part, length in zip(parts, lengths, strict=True)]).cpu()


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
