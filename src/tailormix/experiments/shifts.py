"""A finished run on shifted test rows: further data sets, and the shifted parts of its own."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from tailormix import data
from tailormix.experiments import building
from tailormix.metrics.classification import summary
from tailormix.training import checkpoint, run_folder
from tailormix.training.evaluating import outputs, predict_split
from tailormix.training.loop import make_fabric

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from lightning_fabric import Fabric

    from tailormix.calibration.predictions import Predictions
    from tailormix.experiments.experiment import Experiment
    from tailormix.training.trainer import Setup


#: CIFAR-C: all 19 corruptions of a severity together, then the mean over severities, as released
CONDITIONS: dict[str, tuple[dict[str, Any], ...]] = {
    name: tuple({"severity": s} for s in range(1, 6)) for name in ("cifar10-c", "cifar100-c")
}


def missing_shifts(names: Sequence[str], result: Mapping[str, Any]) -> list[str]:
    """Data sets that a result has no metrics of yet.

    >>> missing_shifts(["cifar10-c", "imagenet-r"], {"shifts": {"imagenet-r": {}}})
    ['cifar10-c']
    """
    return [name for name in names if name not in result.get("shifts", {})]


def evaluate_shifts(experiment: Experiment, path: Path, result: dict[str, Any]) -> dict[str, Any]:
    """The result with ``shifts.NAME`` for every data set of ``also``; only missing ones are evaluated."""
    missing = missing_shifts(experiment.training.also, result)
    if not missing:
        return result
    setup, fabric = _trained(experiment, path, result)
    temperature = result.get("temperature", {}).get("value")
    for name in missing:
        found = _evaluate(name, experiment, setup, fabric, temperature)
        result = {**result, "shifts": {**result.get("shifts", {}), name: found}}
        if fabric.is_global_zero:
            run_folder.write_json(path / run_folder.RESULT, result)
    return result


def shifted_predictions(
    experiment: Experiment, path: Path, result: Mapping[str, Any]
) -> dict[str, Predictions]:
    """Answers of a finished run on every shifted test part of its own data, by name."""
    setup, fabric = _trained(experiment, path, result)
    return {name: predict_split(setup, name, fabric, experiment.training) for name in setup.data.shifts}


def _trained(experiment: Experiment, path: Path, result: Mapping[str, Any]) -> tuple[Setup, Fabric]:
    """What the experiment was made of, with the weights of the finished run."""
    fabric = make_fabric(experiment.training)
    setup = building.build(experiment, fabric.device)
    checkpoint.load_module(setup.model, checkpoint.read(path / result["best weights"]).tensors)
    setup.model.to(fabric.device)
    return setup, fabric


def _evaluate(
    name: str, experiment: Experiment, setup: Setup, fabric: Fabric, temperature: float | None
) -> dict[str, Any]:
    """Metrics before and after the run's temperature, each the mean over the data set's conditions."""
    root = experiment.data.options.get("root")
    temperatures = {"before": 1.0} | ({} if temperature is None else {"after temperature": temperature})
    stages: dict[str, list[dict[str, float]]] = {stage: [] for stage in temperatures}
    conditions = CONDITIONS.get(name, ({},))
    for options in conditions:
        splits = data.load(name, root=root, **options).to(fabric.device)
        if splits.outputs != setup.data.outputs:
            raise ValueError(f"{name} has {splits.outputs} classes, but the model {setup.data.outputs}")
        logits = outputs(setup.model, splits.test, fabric, experiment.training)
        targets = splits.test.targets.cpu()
        for stage, value in temperatures.items():
            stages[stage].append(summary(logits / value, targets, from_logits=True))
    means = {stage: _mean(found) for stage, found in stages.items()}
    return {**means, "conditions": len(conditions)}


def _mean(found: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The mean of each metric."""
    return {name: statistics.fmean(one[name] for one in found) for name in found[0]}
