"""A finished run judged on further data sets: corrupted, rendered or otherwise shifted test sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailormix.training import run_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from lightning_fabric import Fabric
    from torch import Tensor

    from tailormix.experiments.experiment import Experiment
    from tailormix.training.loop import Parts


SHIFTS = "shifts"
#: CIFAR-C: all 19 corruptions of a severity together, then the mean over severities, as released
CONDITIONS: dict[str, tuple[dict[str, Any], ...]] = {
    name: tuple({"severity": s} for s in range(1, 6)) for name in ("cifar10-c", "cifar100-c")
}


def still_to_judge(names: Sequence[str], result: Mapping[str, Any]) -> list[str]:
    """Data sets that a result says nothing of yet.

    >>> still_to_judge(["cifar10-c", "imagenet-r"], {"shifts": {"imagenet-r": {}}})
    ['cifar10-c']
    """
    return [name for name in names if name not in result.get(SHIFTS, {})]


def judge_shifts(experiment: Experiment, path: Path, result: dict[str, Any]) -> dict[str, Any]:
    """The result with ``shifts.NAME`` for every data set of ``also``; what is there is not judged again."""
    missing = still_to_judge(experiment.training.also, result)
    if not missing:
        return result
    from tailormix.experiments.building import build
    from tailormix.training import checkpoint
    from tailormix.training.loop import make_fabric

    fabric = make_fabric(experiment.training)
    parts = build(experiment, fabric.device)
    checkpoint.load_module(parts.model, checkpoint.read(path / result["best weights"]).tensors)
    parts.model.to(fabric.device)
    for name in missing:
        found = _judged(name, experiment, parts, fabric, result.get("temperature", {}).get("value"))
        result = {**result, SHIFTS: {**result.get(SHIFTS, {}), name: found}}
        if fabric.is_global_zero:
            run_folder.write_json(path / run_folder.RESULT, result)
    return result


def _judged(
    name: str, experiment: Experiment, parts: Parts, fabric: Fabric, temperature: float | None
) -> dict[str, Any]:
    """Metrics before and after the temperature of the run, each the mean over the data set's conditions."""
    from tailormix import data
    from tailormix.training.evaluating import outputs

    root = experiment.data.options.get("root")
    stages: dict[str, list[dict[str, float]]] = {"before": [], "after temperature": []}
    for options in CONDITIONS.get(name, ({},)):
        splits = data.load(name, root=root, **options).to(fabric.device)
        if splits.outputs != parts.data.outputs:
            raise ValueError(f"{name} has {splits.outputs} classes, but the model {parts.data.outputs}")
        logits = outputs(parts.model, splits.test, fabric, experiment.training)
        targets = splits.test.targets.cpu()
        stages["before"].append(_measured(logits, targets))
        if temperature is not None:
            stages["after temperature"].append(_measured(logits / temperature, targets))
    return {stage: _mean(found) for stage, found in stages.items() if found} | {
        "conditions": len(stages["before"])
    }


def _measured(logits: Tensor, targets: Tensor) -> dict[str, float]:
    from tailormix.metrics.summary import summary

    return summary(logits, targets, from_logits=True)


def _mean(found: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The mean of each metric.

    >>> _mean([{"ece": 0.25}, {"ece": 0.75}])
    {'ece': 0.5}
    """
    return {name: sum(one[name] for one in found) / len(found) for name in found[0]}
