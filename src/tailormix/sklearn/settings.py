"""The parameters of an estimator, checked when it is fitted and not before, as scikit-learn wants it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tailormix import checks
from tailormix.method import Method
from tailormix.methods import build_method

from .loop import Recipe

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import nn


@dataclass(frozen=True, eq=False)
class Settings:
    """What :class:`MixupEstimator` was given, in plain types and within their ranges."""

    recipe: Recipe
    hidden: tuple[int, ...]
    dropout: float
    module: Callable[[int, int], nn.Module] | None
    fraction: float
    calibrate: bool
    early_stopping: bool
    refit: bool
    warm_start: bool
    verbose: bool

    @property
    def holds_out(self) -> bool:
        """Whether rows are to be held out at all."""
        return self.calibrate or self.early_stopping


def settings_of(estimator: Any) -> Settings:
    """Read and check the parameters of an estimator.

    >>> from tailormix.sklearn import MixupClassifier
    >>> settings_of(MixupClassifier(dropout=2))
    Traceback (most recent call last):
    ValueError: dropout must lie in [0, 1), got 2
    """
    given = {name: plain(value) for name, value in estimator.get_params(deep=False).items()}
    if given["module"] is not None and not callable(given["module"]):
        raise TypeError(
            "module must be a function (n_features, n_outputs) -> nn.Module, "
            f"got {type(given['module']).__name__}"
        )
    patience = checks.integer("n_iter_no_change", given["n_iter_no_change"], at_least=1)
    recipe = Recipe(
        learning_rate=checks.positive("learning_rate", given["learning_rate"]),
        weight_decay=checks.non_negative("weight_decay", given["weight_decay"]),
        batch_size=checks.integer("batch_size", given["batch_size"], at_least=1),
        epochs=checks.integer("max_iter", given["max_iter"], at_least=1),
        patience=patience if _switch("early_stopping", given) else None,
    )
    return Settings(
        recipe=recipe,
        hidden=_sizes(given["hidden_layer_sizes"]),
        dropout=_below_one("dropout", given["dropout"]),
        module=given["module"],
        fraction=_share(given["validation_fraction"]),
        calibrate=_switch("calibrate", given),
        early_stopping=recipe.patience is not None,
        # A second training on all rows would show those held out to the fit that goes on from it.
        refit=_switch("refit", given) and recipe.patience is None and not _switch("warm_start", given),
        warm_start=_switch("warm_start", given),
        verbose=bool(given["verbose"]),
    )


def method_of(method: str | Method, options: Mapping[str, Any] | None, classes: int | None) -> Method:
    """The method by name with its options, or the object itself; ``classes`` is ``None`` for real targets.

    >>> method_of("sk-mixup", {"tau_std": 0.5}, 3).num_classes
    3
    """
    if isinstance(method, str):
        method = build_method(method, **(options or {}))
    elif not isinstance(method, Method):
        raise TypeError(f"method must be a name or a Method, got {type(method).__name__}: {method!r}")
    elif options:
        raise ValueError(
            "method_options go with the name of a method: a Method object has its settings already"
        )
    if method.num_classes not in (None, classes):
        task = "real targets" if classes is None else f"{classes} classes"
        raise ValueError(f"method is set up for num_classes={method.num_classes}, but y has {task}")
    return replace(method, num_classes=classes)


def plain(value: Any) -> Any:
    """A number as Python has it: grids of parameters are often arrays of numpy.

    >>> plain(np.int64(3))
    3
    """
    return value.item() if isinstance(value, np.generic) else value


def _switch(name: str, given: dict[str, Any]) -> bool:
    value = given[name]
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return value


def _sizes(value: Any) -> tuple[int, ...]:
    sizes = (value,) if np.ndim(value) == 0 else tuple(value)
    return tuple(checks.integer("hidden_layer_sizes", plain(size), at_least=1) for size in sizes)


def _below_one(name: str, value: float) -> float:
    if not 0 <= checks.number(name, value) < 1:
        raise ValueError(f"{name} must lie in [0, 1), got {value}")
    return value


def _share(value: float) -> float:
    if not 0 < checks.number("validation_fraction", value) <= 0.5:
        raise ValueError(f"validation_fraction must lie in (0, 0.5], got {value}")
    return value
