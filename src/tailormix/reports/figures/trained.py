"""The model and the data of a finished run, as it was judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn

    from tailormix.data import DataSplits

    from .chosen_runs import ChosenRun


def trained_model(run: ChosenRun) -> tuple[nn.Module, DataSplits]:
    """The best weights in their network, ready to predict, and the splits; the random state is left alone.

    The splits must be those of the run, row by row, or the test set might hold what was trained on.
    """
    import torch

    from tailormix import data, models
    from tailormix.training import checkpoint, packing

    (name, options), (network, arguments) = (_named(run.experiment[key]) for key in ("data", "model"))
    splits = data.load(name, seed=run.experiment["seed"], **options)
    if splits.fingerprints != run.result["data"]["fingerprints"]:
        raise ValueError(
            f"the rows of {name} are not those that {run.path} was trained on: get the data anew"
        )
    with torch.random.fork_rng(devices=[]):
        model = models.build(
            network, **models.shape_arguments(network, splits.input_shape, splits.outputs), **arguments
        )
    packing.load_module(model, checkpoint.read(run.path / run.result["best weights"]).tensors)
    return model.eval(), splits


def _named(section: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return str(section["name"]), {key: value for key, value in section.items() if key != "name"}
