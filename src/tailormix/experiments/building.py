"""Build data, model, method and criterion from the names in an experiment, plug-ins among them."""

from __future__ import annotations

import functools
import inspect
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from tailormix import checks, data, losses, models
from tailormix.calibration.predictions import to_numpy
from tailormix.data.custom import array_splits
from tailormix.data.preprocessing import ArrayPreprocessing
from tailormix.data.registry import fold_splits
from tailormix.data.splits import DataSplits
from tailormix.experiments import plugins
from tailormix.experiments.experiment import DEFAULT_LOSS, REGRESSION_LOSSES, method_options
from tailormix.losses.registry import LOSSES
from tailormix.method import Method
from tailormix.methods import AUTO, build_method, without_auto
from tailormix.objectives.mixed import squared_error
from tailormix.strength import AutoStrength
from tailormix.training.seeding import Stream, derive
from tailormix.training.trainer import Setup

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import Tensor

    from tailormix.components import Criterion
    from tailormix.data.splits import Split
    from tailormix.experiments.experiment import Experiment


def build(
    experiment: Experiment, device: torch.device | str = "cpu", loaded: dict[str, DataSplits] | None = None
) -> Setup:
    """Load the data onto ``device`` and build the rest to fit it; weights come from torch's generator.

    ``loaded`` holds data by what it was loaded from: experiments that are given the same one share it.
    """
    splits = _shared_data(experiment, device, {} if loaded is None else loaded)
    if len(splits.train) == 0:
        raise ValueError(f"data set {splits.name} has no training rows: it is for testing only")
    model = build_model(experiment.model.name, model_arguments(experiment, splits))
    method = _method(experiment, splits)
    auto = AutoStrength(method) if AUTO in experiment.method.options.values() else None
    if auto is not None:
        check_auto(experiment, splits)
        method = auto.method
    if experiment.training.embeddings.options.get("every"):
        check_bank(method, splits)
    return Setup(splits, model, method, _criterion(experiment, splits), auto)


def _shared_data(
    experiment: Experiment, device: torch.device | str, loaded: dict[str, DataSplits]
) -> DataSplits:
    """The experiment's data on ``device``; of a plug-in anew, since it may draw from torch's generator."""
    name, options = experiment.data.name, experiment.data.options
    if plugins.is_plugin(name):
        return load_data(experiment).to(device)
    key = repr((name, sorted(options.items()), options.get("split_seed", experiment.training.seed)))
    if key not in loaded:
        loaded[key] = load_data(experiment).to(device)
    return loaded[key]


def check_bank(method: Method, splits: DataSplits) -> None:
    """Raise where there is nothing to look up in a bank of embeddings."""
    needs = (method.pairs.needs_embeddings, method.coefficients.needs_embeddings)
    if not any(splits.task == "classification" if need is None else need for need in needs):
        raise ValueError("embeddings.every is for methods that measure embeddings, and this one does not")


def check_auto(experiment: Experiment, splits: DataSplits) -> None:
    """Raise where the strength cannot be set by validation rows."""
    if splits.task != "classification":
        raise ValueError(
            f"automatic strength is for classes, and {splits.name} has real targets: give a number"
        )
    if len(splits.validation) == 0:
        raise ValueError(f"automatic strength needs a validation split, but that of {splits.name} is empty")
    if experiment.training.imitate:
        raise ValueError(f"automatic strength cannot imitate {experiment.training.imitate}: give a number")


def load_data(experiment: Experiment) -> DataSplits:
    """The experiment's data; a plug-in is given its options, and ``seed`` where it asks for that.

    The split is that of the run's seed, unless the option ``split_seed`` fixes one for all runs.
    A plug-in returns ``DataSplits``, or arrays x and y that are split as those of an ``.npz`` file.
    """
    name, options = experiment.data.name, dict(experiment.data.options)
    seed = options.pop("split_seed", experiment.training.seed)
    if not plugins.is_plugin(name):
        return data.load(name, seed=seed, **options)
    fold = options.pop("fold", None)
    arguments = _asked(name, {"seed": seed}) | options
    found: Any = plugins.build("DataSplits or arrays (x, y)", name, arguments, (DataSplits, tuple))
    if not isinstance(found, DataSplits):
        if len(found) != 2:
            raise plugins.PluginError(f"plug-in {name} must return two arrays x and y, got {len(found)}")
        x, y = map(to_numpy, found)
        found = array_splits(plugins.short_name(name), Path(name), x, y, seed)
    if found.preprocessing is None and getattr(found.test, "transform", None) is None:
        found = replace(found, preprocessing=ArrayPreprocessing(found.input_shape))  # raw inputs are inputs
    splits: DataSplits = found
    return splits if fold is None else fold_splits(splits, fold, seed)


def model_arguments(experiment: Experiment, splits: DataSplits) -> dict[str, Any]:
    """The arguments of the experiment's model: those that fit it to the data, and its options."""
    name, shape, outputs = experiment.model.name, splits.input_shape, splits.outputs
    if not plugins.is_plugin(name):
        return {**models.shape_arguments(name, shape, outputs), **experiment.model.options}
    offered: dict[str, Any] = {"input_shape": list(shape), "in_features": math.prod(shape)}
    offered |= {"in_channels": shape[0]} if len(shape) == 3 else {}
    offered |= dict.fromkeys(("outputs", "out_features", "num_classes"), outputs)
    return _asked(name, offered) | dict(experiment.model.options)


def build_model(name: str, arguments: Mapping[str, Any]) -> nn.Module:
    """The model of these arguments, by its name in the registry or by a plug-in."""
    if not plugins.is_plugin(name):
        return models.build(name, **arguments)
    model: nn.Module = plugins.build("a torch.nn.Module", name, arguments, nn.Module)
    return model


def _asked(name: str, offered: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the offered arguments that a plug-in has a parameter for."""
    parameters = plugins.parameters(name)
    return {key: value for key, value in offered.items() if key in parameters and value is not None}


def _method(experiment: Experiment, splits: DataSplits) -> Method:
    name, options = experiment.method.name, dict(experiment.method.options)
    inputs = _augmented(splits.train, experiment.training.seed)
    if plugins.is_plugin(name):
        arguments = _asked(name, {"num_classes": splits.num_classes}) | options
        method: Method = plugins.build("a tailormix.Method", name, arguments, Method)
        return method.fit(inputs, splits.train.targets)
    if splits.num_classes is not None and "num_classes" in method_options(name):
        options.setdefault("num_classes", splits.num_classes)
    settings, _ = without_auto(name, options)
    return build_method(name, **settings).fit(inputs, splits.train.targets)


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
    if plugins.is_plugin(name):
        return _plugin_criterion(name, options, splits)
    if splits.task == "regression":
        checks.known("loss for real targets", name, REGRESSION_LOSSES)
        return squared_error if name == "mse" else _denormalised(splits)
    checks.known("loss for classes", name, LOSSES)
    if "size" in LOSSES[name].required:
        options["size"] = len(splits.train)
    return losses.build(name, **options)


def _plugin_criterion(name: str, options: Mapping[str, Any], splits: DataSplits) -> Criterion:
    """A module, what a class or function returns, or a function of outputs and targets as it is.

    A function that needs two arguments or more which no option gives is taken for a criterion itself.
    """
    found, parameters = plugins.find(name), plugins.parameters(name)
    if isinstance(found, nn.Module):
        module: nn.Module = plugins.build("a criterion", name, options, nn.Module)
        return module
    arguments = _asked(name, {"num_classes": splits.num_classes, "size": len(splits.train)}) | dict(options)
    needed = [p for p in parameters.values() if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    if not inspect.isclass(found) and len([p for p in needed if p.name not in arguments]) >= 2:
        for option in options:
            checks.known(f"option of {name}", option, list(parameters)[2:] or ("(none)",))
        return functools.partial(found, **arguments) if arguments else found
    made = plugins.call(name, found, arguments)
    if not callable(made):
        raise plugins.PluginError(f"plug-in {name} must return a criterion, got {type(made).__name__}")
    criterion: Criterion = made
    return criterion


def _denormalised(splits: DataSplits) -> Criterion:
    """Squared error after both sides are multiplied by the columns' scale, as in the released code."""
    if splits.target_scale is None:
        raise ValueError(f"loss mse-denormalised needs scaled targets, but those of {splits.name} are not")
    return functools.partial(_scaled_error, scale=splits.target_scale)


def _scaled_error(predictions: Tensor, targets: Tensor, scale: Tensor) -> Tensor:
    return squared_error(predictions * scale, targets * scale)
