"""The parameters of the estimators, checked, and the methods that they name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tailormix import checks
from tailormix.method import Method
from tailormix.methods import AUTO, build_method, without_auto

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import nn


@dataclass(frozen=True, eq=False)
class Options:
    """The parameters of an estimator as plain types, within their ranges.

    ``patience`` is the number of epochs without a lower validation loss after which training stops; ``None``
    without early stopping. ``decays`` are the weight decays to choose from.
    """

    members: int
    learning_rate: float
    decays: tuple[float, ...]
    batch_size: int
    epochs: int
    patience: int | None
    hidden: tuple[int, ...]
    dropout: float
    module: Callable[[int, int], nn.Module] | None
    fraction: float
    calibrate: bool
    refit: bool
    warm_start: bool
    verbose: bool

    @property
    def holds_out(self) -> bool:
        """Whether any rows are held out."""
        return self.calibrate or self.patience is not None or len(self.decays) > 1


#: what weight_decay="auto" chooses from
DECAYS = (0.01, 1.0, 3.0, 10.0)


def decays_of(weight_decay: Any, learning_rate: float) -> tuple[float, ...]:
    """The weight decays to try; of ``"auto"`` those whose steps at most halve the weights.

    >>> decays_of("auto", 0.003), decays_of("auto", 0.1), decays_of(0.5, 0.003)
    ((0.01, 1.0, 3.0, 10.0), (0.01, 1.0, 3.0), (0.5,))
    """
    if isinstance(weight_decay, str) and weight_decay == AUTO:
        return tuple(each for each in DECAYS if each == DECAYS[0] or each * learning_rate <= 0.5)
    return (checks.non_negative("weight_decay", weight_decay),)


def options_of(estimator: Any) -> Options:
    """Read and check the parameters of an estimator.

    >>> from tailormix.integrations.sklearn import MixupClassifier
    >>> options_of(MixupClassifier(dropout=2))
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
    learning_rate = checks.positive("learning_rate", given["learning_rate"])
    early_stopping, warm_start = _switch("early_stopping", given), _switch("warm_start", given)
    return Options(
        members=checks.integer("members", given["members"], at_least=1),
        learning_rate=learning_rate,
        decays=decays_of(given["weight_decay"], learning_rate),
        batch_size=checks.integer("batch_size", given["batch_size"], at_least=1),
        epochs=checks.integer("max_iter", given["max_iter"], at_least=1),
        patience=patience if early_stopping else None,
        hidden=_sizes(given["hidden_layer_sizes"]),
        dropout=_below_one("dropout", given["dropout"]),
        module=given["module"],
        fraction=_share(given["validation_fraction"]),
        calibrate=_switch("calibrate", given),
        # A second training on all rows would show those held out to the next fit, which starts from it.
        refit=_switch("refit", given) and not early_stopping and not warm_start,
        warm_start=warm_start,
        verbose=bool(given["verbose"]),
    )


#: what method="auto" chooses from for classes; all but the first set their strength by the rows held out
PORTFOLIO = ("erm", "mixup", "sk-mixup", "regmixup", "sk-regmixup")
#: of RegMixup, which method="auto" is for real targets: strong mixing adds to their errors
REGRESSOR_ALPHA = 0.05


def methods_of(
    method: str | Method, options: Mapping[str, Any] | None, classes: int | None
) -> dict[str, tuple[Method, bool]]:
    """The method, or those that ``"auto"`` chooses from: by name, each with whether its strength sets itself.

    ``classes`` is ``None`` for real targets, for which ``"auto"`` is one method.

    >>> list(methods_of("auto", None, 3))
    ['erm', 'mixup', 'sk-mixup', 'regmixup', 'sk-regmixup']
    >>> list(methods_of("auto", None, None))
    ['regmixup']
    >>> methods_of("sk-mixup", {"tau_max": "auto"}, 3)["sk-mixup"][1]
    True
    """
    if isinstance(method, str) and method == AUTO:
        if options:
            raise ValueError(
                f"method_options go with the name of a method, got {dict(options)} with method='auto'"
            )
        if classes is None:
            return {"regmixup": (build_method("regmixup", alpha=REGRESSOR_ALPHA), False)}
        return {name: (replace(build_method(name), num_classes=classes), name != "erm") for name in PORTFOLIO}
    name, auto = method if isinstance(method, str) else type(method).__name__, False
    if isinstance(method, str):
        settings, auto = without_auto(method, options or {})
        method = build_method(method, **settings)
    elif not isinstance(method, Method):
        raise TypeError(f"method must be a name or a Method, got {type(method).__name__}: {method!r}")
    elif options:
        raise ValueError(
            "method_options go with the name of a method: a Method object has its settings already"
        )
    if auto and classes is None:
        raise ValueError("automatic strength is for classes, and y has real targets: give a number")
    if method.num_classes not in (None, classes):
        task = "real targets" if classes is None else f"{classes} classes"
        raise ValueError(f"method is set up for num_classes={method.num_classes}, but y has {task}")
    return {name: (replace(method, num_classes=classes), auto)}


def plain(value: Any) -> Any:
    """A number of numpy as one of Python: grids of parameters are often arrays.

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
