"""Predictions of a model, their calibration, and the metrics computed from them.

Weights are selected and the calibrator is fitted on the validation split. Only a run that imitates the
released protocol uses the test split for both, and its result says so.
"""

from __future__ import annotations

import statistics
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from tailormix.calibration.dropout import mc_dropout, predict
from tailormix.calibration.predictions import Predictions, save_predictions
from tailormix.calibration.temperature import PRIOR, TemperatureScaling
from tailormix.calibration.variance import VarianceScaling
from tailormix.data.corrupt import CORRUPTIONS, SEVERITIES
from tailormix.metrics.binning import bin_sums, calibration_error
from tailormix.metrics.classification import sample_statistics, summary
from tailormix.metrics.detection import auroc, fpr95
from tailormix.metrics.inputs import classification_inputs
from tailormix.metrics.regression import mae, mape, regression_summary, rmse
from tailormix.training.run_folder import CALIBRATOR
from tailormix.training.seeding import Stream, derive, share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from lightning_fabric import Fabric
    from torch import Tensor, nn

    from tailormix.data.splits import Split
    from tailormix.training.settings import Settings
    from tailormix.training.trainer import Setup


ROWS = 1024  # of one pass without gradient: fast enough, and small enough for a series of 321 clients
#: the test split has the name that ``tailormix evaluate FOLDER`` looks for
FILES = {"validation": "validation.npz", "test": "predictions.npz"}
#: shifted test parts that are corrupted images, like jpeg-3
CORRUPTED = {f"{kind}-{severity}" for kind in CORRUPTIONS for severity in SEVERITIES}
#: what a result calls the metrics after each kind of calibrator
AFTER = {"temperature": "after temperature", "variance": "after variance scaling"}
STAGES = ("before", *AFTER.values())


class NonFiniteOutputs(RuntimeError):
    """A model answered with NaN or infinity."""


class Validation(NamedTuple):
    """Metrics of an epoch, its score (larger is better), and the outputs (n, outputs) that they come from."""

    metrics: dict[str, float]
    score: float | None = None
    outputs: Tensor | None = None


def validate(setup: Setup, fabric: Fabric, settings: Settings, known: Tensor | None = None) -> Validation:
    """Metrics on the split that selects, and the score: accuracy, or minus the squared error in training.

    The squared error that is shown is in the user's units. ``known`` are the outputs (n, outputs), where
    somebody has them.

    A data set without a validation split has no score: its last epoch is kept, never one that the test split
    chose.
    """
    split: Split = getattr(setup.data, selecting_split(settings))
    broadcast_buffers(setup.model, fabric)
    if len(split) == 0:
        return Validation({})
    found = outputs(setup.model, split, fabric, settings) if known is None else _checked(known.cpu())
    targets = split.targets.cpu()
    if setup.data.task == "regression":
        squared = (found.double() - targets.double()).square()
        _, spread = setup.data.target_units or (None, torch.ones(()))
        mse = float((squared * spread.cpu().square()).mean())
        return Validation({"mse": mse}, -float(squared.mean()), found)
    rows = sample_statistics(classification_inputs(found, targets, from_logits=True))
    bins = bin_sums(rows.confidence, rows.outcome, n_bins=15)
    metrics = {
        "accuracy": float(rows.correct.double().mean()),
        "nll": float(rows.nll.double().mean()),
        "ece": float(calibration_error(bins)),
    }
    return Validation(metrics, metrics["accuracy"], found)


def evaluate(setup: Setup, fabric: Fabric, settings: Settings, path: Path) -> dict[str, Any]:
    """Write predictions and the calibrator; return the metrics of the splits that have rows, and the fit."""
    splits = {"validation": setup.data.validation, "test": setup.data.test}
    found = {
        name: predict_split(setup, name, fabric, settings) for name, split in splits.items() if len(split)
    }
    if fabric.is_global_zero:
        for name, predictions in found.items():
            save_predictions(path / FILES[name], predictions)
    result, calibrator = calibrated_metrics(found, settings)
    if calibrator is not None and fabric.is_global_zero:
        calibrator.save(path / CALIBRATOR)
    if setup.data.shifts:
        shifted = {name: predict_split(setup, name, fabric, settings) for name in setup.data.shifts}
        result["shifts"] = shift_metrics(shifted, found.get("test"), calibrator)
    return result


def shift_metrics(
    shifted: Mapping[str, Predictions],
    test: Predictions | None,
    calibrator: TemperatureScaling | VarianceScaling | None,
) -> dict[str, Any]:
    """Metrics on every shifted test part, by its name, with the calibrator of clean validation rows.

    Corrupted images, ``KIND-SEVERITY``, are reported each and as their mean. A part without known classes is
    reported by how well low confidence finds it among the test rows, if there are any.
    """
    found: dict[str, Any] = {}
    corrupted: dict[str, dict[str, dict[str, float]]] = {}
    for name, predictions in shifted.items():
        if predictions.task == "classification" and bool((predictions.targets < 0).all()):
            if test is not None:
                known, unknown = (
                    calibration_stages(test, calibrator),
                    calibration_stages(predictions, calibrator),
                )
                found[name] = {
                    stage: detection(known[stage].logits, unknown[stage].logits) for stage in known
                }
            continue
        stages = calibration_stages(predictions, calibrator)
        measured = {stage: measure(each) for stage, each in stages.items()}
        (corrupted if name in CORRUPTED else found)[name] = measured
    if corrupted:
        means = _means(list(corrupted.values()))
        found["corrupted"] = {**means, "conditions": len(corrupted), "parts": corrupted}
    return found


def by_kind(
    parts: Mapping[str, Mapping[str, Mapping[str, float]]],
) -> dict[str, dict[str, dict[str, float]]]:
    """Means over severities of the metrics of corrupted parts, by kind, stage and metric.

    >>> by_kind({"jpeg-1": {"before": {"ece": 0.1}}, "jpeg-5": {"before": {"ece": 0.4}}})
    {'jpeg': {'before': {'ece': 0.25}}}
    """
    kinds: dict[str, list[Mapping[str, Mapping[str, float]]]] = {}
    for part, stages in parts.items():
        kinds.setdefault(part.rpartition("-")[0], []).append(stages)
    return {kind: _means(found) for kind, found in kinds.items()}


def _means(found: Sequence[Mapping[str, Mapping[str, float]]]) -> dict[str, dict[str, float]]:
    """The mean of each metric of each stage that all parts have."""
    means: dict[str, dict[str, float]] = {}
    for stage, metrics in found[0].items():
        shared = [
            name for name in metrics if all(part.get(stage, {}).get(name) is not None for part in found)
        ]
        means[stage] = {name: statistics.fmean(part[stage][name] for part in found) for name in shared}
    return means


def calibration_stages(
    predictions: Predictions, calibrator: TemperatureScaling | VarianceScaling | None
) -> dict[str, Predictions]:
    """Predictions before and, where there is a calibrator, after it, by the names of a result."""
    after = {} if calibrator is None else {AFTER[calibrator.kind]: apply_calibrator(calibrator, predictions)}
    return {"before": predictions, **after}


def detection(known: Tensor, unknown: Tensor) -> dict[str, float]:
    """How well the largest probability tells known from unknown inputs, from their logits."""
    scores = [logits.double().softmax(1).amax(1).numpy() for logits in (known, unknown)]
    return {"auroc": auroc(*scores), "fpr95": fpr95(*scores)}


def calibrated_metrics(
    found: Mapping[str, Predictions], settings: Settings
) -> tuple[dict[str, Any], TemperatureScaling | VarianceScaling | None]:
    """Metrics of every split before and after calibration, and the calibrator."""
    result: dict[str, Any] = {name: {"before": measure(p)} for name, p in found.items()}
    calibrator = fit_calibrator(found, settings)
    if calibrator is not None:
        result[calibrator.kind] = describe(calibrator)
        for name, predictions in found.items():
            result[name][AFTER[calibrator.kind]] = measure(apply_calibrator(calibrator, predictions))
    return result, calibrator


def fit_calibrator(
    found: Mapping[str, Predictions], settings: Settings
) -> TemperatureScaling | VarianceScaling | None:
    """Temperature, or variance scaling, fitted on the split that selects; None without rows or errors there.

    The released protocol has no prior of the temperature, as the released code has none.
    """
    imitate, rows = settings.imitate or None, found.get(selecting_split(settings))
    if rows is None:
        return None
    if rows.task == "classification":
        return TemperatureScaling(prior=None if imitate else PRIOR).fit(rows, imitate=imitate)
    if bool((rows.mean == rows.targets).all()):
        return None
    return VarianceScaling().fit(rows, imitate=imitate)


def apply_calibrator(
    calibrator: TemperatureScaling | VarianceScaling, predictions: Predictions
) -> Predictions:
    """Calibrated predictions, also of the very points that the calibrator was fitted on.

    Metrics of those say how well it can fit, no more; for validation that is what the paper's
    cross-validation reports.
    """
    if predictions.task == "classification":
        return replace(predictions, logits=calibrator.transform(predictions.logits))
    return replace(predictions, std=calibrator.transform(predictions.std))


def describe(calibrator: TemperatureScaling | VarianceScaling) -> dict[str, Any]:
    """What a result says about a calibrator: its number, how it was found, and on which points."""
    if isinstance(calibrator, TemperatureScaling):
        facts = {"prior": calibrator.prior, "status": calibrator.fitted.status}
        value = calibrator.temperature
    else:
        facts, value = {}, calibrator.scale
    fit = {"note": calibrator.fitted.note, "fitted on": calibrator.provenance.as_dict()}
    return {"value": value, **facts, **fit}


def measure(predictions: Predictions) -> dict[str, float]:
    """Every metric of the task; only errors where a row has no spread, as none has without dropout."""
    if predictions.task == "classification":
        return summary(predictions.logits, predictions.targets, from_logits=True)
    if bool((predictions.std > 0).all()):
        return regression_summary(predictions.mean, predictions.std, predictions.targets)
    errors = {"rmse": rmse, "mae": mae, "mape": mape}
    return {name: error(predictions.mean, predictions.targets) for name, error in errors.items()}


def selecting_split(settings: Settings) -> str:
    """The split that selects weights and fits the calibrator.

    >>> from tailormix.training.settings import Settings
    >>> selecting_split(Settings()), selecting_split(Settings(imitate="released-protocol"))
    ('validation', 'test')
    """
    return "test" if settings.imitate else "validation"


def predict_split(setup: Setup, name: str, fabric: Fabric, settings: Settings) -> Predictions:
    """Logits of a classifier, mean and standard deviation of a regression, with targets and ids.

    ``name`` is that of a split or of a shifted test part.

    Targets that were standardised for training only are turned back into the user's units, and so are means
    and standard deviations.
    """
    split: Split = setup.data.shifts[name] if name in setup.data.shifts else getattr(setup.data, name)
    rows: dict[str, Any] = {"targets": split.targets.cpu(), "ids": split.ids.cpu(), "split": name}
    if setup.data.task == "classification":
        return Predictions(logits=outputs(setup.model, split, fabric, settings), **rows)
    if has_dropout(setup.model):
        mean, std = monte_carlo(setup.model, split, fabric, settings)
    else:
        mean = outputs(setup.model, split, fabric, settings)
        std = torch.zeros_like(mean)
    if setup.data.target_units is not None:
        centre, spread = (values.cpu() for values in setup.data.target_units)
        rows["targets"] = (rows["targets"] * spread + centre).float()
        mean, std = (mean * spread + centre).float(), (std * spread).float()
    return Predictions(mean=mean, std=std, **rows)


def outputs(model: nn.Module, split: Split, fabric: Fabric, settings: Settings) -> Tensor:
    """Outputs (n, outputs) of the deterministic pass, on the CPU, in the order of the split."""
    with fabric.autocast():
        mine = forward_batches(model, inputs(split, fabric, settings))
    return _gather([part.float() for part in mine], len(split), fabric)


@torch.no_grad()
def forward_batches(model: nn.Module, inputs: Iterable[Tensor]) -> list[Tensor]:
    """The outputs of each batch of inputs in evaluation mode; afterwards the model's mode is what it was."""
    training = model.training
    model.eval()
    try:
        return [model(x) for x in inputs]
    finally:
        model.train(training)


def monte_carlo(model: nn.Module, split: Split, fabric: Fabric, settings: Settings) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation (n, outputs) over passes with dropout; the random state is left alone."""
    means, stds = [], []
    for number, x in enumerate(inputs(split, fabric, settings)):
        seed = derive(settings.seed, Stream.DROPOUT, number, fabric.global_rank)
        found = predict(model, x, samples=settings.mc_samples, seed=seed)
        means.append(found.mean)
        stds.append(found.std)
    return _gather(means, len(split), fabric), _gather(stds, len(split), fabric)


def has_dropout(model: nn.Module) -> bool:
    """Whether passes with dropout can differ.

    >>> has_dropout(torch.nn.Dropout(0.5)), has_dropout(torch.nn.Dropout(0.0))
    (True, False)
    """
    try:
        with mc_dropout(model):
            return True
    except ValueError:
        return False


def broadcast_buffers(model: nn.Module, fabric: Fabric) -> None:
    """Give every rank the buffers of the first: running statistics of BatchNorm differ after a step."""
    if fabric.world_size > 1:
        for buffer in model.buffers():
            torch.distributed.broadcast(buffer, 0)


def inputs(split: Split, fabric: Fabric, settings: Settings) -> Iterator[Tensor]:
    """Inputs of this rank's share of the rows, in batches."""
    rows = share(torch.arange(len(split)), fabric.global_rank, fabric.world_size)
    plan = [(part, 0) for part in torch.split(rows, ROWS) if len(part)]
    return (x for x, _ in split.batches(plan, settings.workers))


def _gather(mine: list[Tensor], rows: int, fabric: Fabric) -> Tensor:
    """The rows of all ranks in their order, on the CPU; shares of unequal length are padded on the way."""
    local = torch.cat(mine) if mine else torch.empty(0)
    if fabric.world_size == 1:
        return _checked(local.cpu())
    lengths = [len(share(torch.arange(rows), rank, fabric.world_size)) for rank in range(fabric.world_size)]
    padded = local.new_zeros(max(lengths), *local.shape[1:])
    padded[: len(local)] = local
    gather: Callable[[Tensor], Tensor] = fabric.all_gather  # type: ignore[assignment]
    shares = gather(padded)
    return _checked(torch.cat([part[:length] for part, length in zip(shares, lengths, strict=True)]).cpu())


def _checked(found: Tensor) -> Tensor:
    """The outputs; raises if any is NaN or +∞. The logit -∞ stands for a class that is ruled out."""
    wrong = (~(found < torch.inf)).flatten(1).any(1)
    if wrong.any():
        raise NonFiniteOutputs(f"the outputs for {int(wrong.sum())} of {len(found)} rows are not finite")
    return found
