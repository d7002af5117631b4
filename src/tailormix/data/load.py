"""From a name and plain options to splits."""

from __future__ import annotations

import importlib
import inspect
from typing import TYPE_CHECKING, cast

from tailormix import checks

from .catalogue import DATASETS
from .files.root import data_root

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .access.record import DataSplits


def load(
    name: str, *, seed: int = 0, root: str | Path | None = None, fold: str | None = None, **options: object
) -> DataSplits:
    """Load data set ``name`` as seeded, disjoint splits.

    ``root`` is the folder of all data sets (default: ``TAILORMIX_DATA``, else the user's cache). The options
    are those of the data set's own ``load``. ``fold``, like ``1/10``, cuts train and validation anew for
    choosing hyper-parameters, and leaves the test split empty (:func:`.access.folds.fold_splits`).

    >>> splits = load("digits", seed=0)
    >>> len(splits.train), len(splits.validation), len(splits.test), splits.input_shape
    (1258, 180, 359, (1, 8, 8))
    >>> load("digit")
    Traceback (most recent call last):
    ValueError: unknown data set 'digit'; did you mean 'digits'? Known: moons, circles, ...
    """
    data_set = DATASETS[checks.known("data set", name, DATASETS)]
    checks.integer("seed", seed, at_least=0)
    module = importlib.import_module(f".{data_set.module}", __package__)
    read = cast("Callable[..., DataSplits]", module.load)
    parameters = inspect.signature(read).parameters
    general = ("root", "seed")
    for key in options:
        checks.known(f"option of {name}", key, [key for key in parameters if key not in general])
    for key, parameter in parameters.items():
        if parameter.default is parameter.empty and key not in general and key not in options:
            raise ValueError(f"data set {name} needs the option {key}")
    if "seed" in parameters:
        options["seed"] = seed
    if "root" in parameters:
        options["root"] = data_root(root)
    splits = read(**options)
    if fold is None:
        return splits
    from .access.folds import fold_splits

    return fold_splits(splits, fold, seed)
