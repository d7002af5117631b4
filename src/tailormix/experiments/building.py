"""Build data, model, method and criterion from the names in an experiment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from tailormix import checks, data, losses, models
from tailormix.experiments.experiment import DEFAULT_LOSS, REGRESSION_LOSSES, method_options
from tailormix.losses.registry import LOSSES
from tailormix.methods import build_method
from tailormix.objectives.mixed import squared_error
from tailormix.training.loop import Setup
from tailormix.training.seeding import Stream, derive

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from tailormix.components import Criterion
    from tailormix.data.splits import DataSplits, Split
    from tailormix.experiments.experiment import Experiment
    from tailormix.method import Method


def build(experiment: Experiment, device: torch.device | str = "cpu") -> Setup:
    """Load the data onto ``device`` and build the rest to fit it; weights come from torch's generator."""
    seed = experiment.training.seed
    splits = data.load(experiment.data.name, seed=seed, **experiment.data.options).to(device)
    if len(splits.train) == 0:
        raise ValueError(f"data set {splits.name} has no training rows: it is for testing only")
    model = models.build(experiment.model.name, **model_arguments(experiment, splits))
    return Setup(splits, model, _method(experiment, splits), _criterion(experiment, splits))


def model_arguments(experiment: Experiment, splits: DataSplits) -> dict[str, Any]:
    """The arguments of the experiment's model: those that fit it to the data, and its options."""
    shape = models.shape_arguments(experiment.model.name, splits.input_shape, splits.outputs)
    return {**shape, **experiment.model.options}


def _method(experiment: Experiment, splits: DataSplits) -> Method:
    name, options = experiment.method.name, dict(experiment.method.options)
    if splits.num_classes is not None and "num_classes" in method_options(name):
        options.setdefault("num_classes", splits.num_classes)
    inputs = _augmented(splits.train, experiment.training.seed)
    return build_method(name, **options).fit(inputs, splits.train.targets)


def _augmented(split: Split, seed: int) -> Callable[[Tensor], Tensor]:
    """A function that fetches inputs by row through the split's augmentation, seeded by torch's generator."""

    def inputs(rows: Tensor) -> Tensor:
        drawn = int(torch.randint(2**62, (), device="cpu"))
        generator = torch.Generator().manual_seed(derive(seed, Stream.POOL, drawn))
        return split.batch(rows, generator)[0]

    return inputs


def _criterion(experiment: Experiment, splits: DataSplits) -> Criterion | None:
    name, options = experiment.loss.name, dict(experiment.loss.options)
    if name == DEFAULT_LOSS:
        return None
    if splits.task == "regression":
        checks.known("loss for real targets", name, REGRESSION_LOSSES)
        return squared_error if name == "mse" else _denormalised(splits)
    checks.known("loss for classes", name, LOSSES)
    if "size" in LOSSES[name].required:
        options["size"] = len(splits.train)
    return losses.build(name, **options)


def _denormalised(splits: DataSplits) -> Criterion:
    """Squared error after both sides are multiplied by the columns' scale, as in the released code."""
    scale = splits.target_scale
    if scale is None:
        raise ValueError(f"loss mse-denormalised needs scaled targets, but those of {splits.name} are not")

    def criterion(predictions: Tensor, targets: Tensor) -> Tensor:
        return squared_error(predictions * scale, targets * scale)

    return criterion
