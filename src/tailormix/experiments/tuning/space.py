"""The search space: keys of the experiment, each with choices or a range."""

from __future__ import annotations

import itertools
import json
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailormix.experiments.experiment import method_options, parse_value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import optuna

    from tailormix.experiments.experiment import Experiment


#: the paper's cross-validation table of τ_std (appendix on the selection of hyper-parameters)
TAU_STD = (0.25, 0.4, 0.5, 0.6, 0.75, 0.8, 1.0, 1.25, 1.5, 2.0)


@dataclass(frozen=True)
class Dimension:
    """One hyper-parameter: ``choices``, or ``low`` to ``high`` (whole numbers if both are)."""

    key: str
    choices: tuple[Any, ...] = ()
    low: float = 0.0
    high: float = 0.0
    log: bool = False

    def suggest(self, trial: optuna.Trial) -> Any:
        """The trial's value."""
        if self.choices:
            return trial.suggest_categorical(self.key, self.choices)
        if isinstance(self.low, int) and isinstance(self.high, int):
            return trial.suggest_int(self.key, self.low, self.high, log=self.log)
        return trial.suggest_float(self.key, self.low, self.high, log=self.log)

    def __contains__(self, value: object) -> bool:
        """Whether a value is one of those searched."""
        if self.choices:
            return value in self.choices
        return isinstance(value, int | float) and self.low <= value <= self.high


def parse_dimension(text: str) -> Dimension:
    """Read ``key=0.2,0.5,1``, ``key=0.1..2`` or ``key=log:1e-4..10``.

    >>> parse_dimension("method.tau_std=0.25,0.5").choices
    (0.25, 0.5)
    >>> parse_dimension("method.tau_max=log:1e-4..10")
    Dimension(key='method.tau_max', choices=(), low=0.0001, high=10, log=True)
    >>> parse_dimension("batch")
    Traceback (most recent call last):
    ValueError: --over takes key=v1,v2,... or key=low..high or key=log:low..high, got 'batch'
    """
    key, _, values = (part.strip() for part in text.partition("="))
    if not key or not values:
        raise ValueError(f"--over takes key=v1,v2,... or key=low..high or key=log:low..high, got {text!r}")
    if matched := re.fullmatch(r"(log:)?(.+?)\.\.(.+)", values):
        low, high, log = parse_value(matched[2]), parse_value(matched[3]), bool(matched[1])
        if not all(type(end) in (int, float) and math.isfinite(end) for end in (low, high)):
            raise ValueError(f"the ends of a range must be numbers, got {text!r}")
        if not low < high or (log and low <= 0):
            raise ValueError(f"a range must rise{', from above 0' if log else ''}, got {text!r}")
        return Dimension(key, low=low, high=high, log=log)
    choices = [parse_value(value.strip()) for value in values.split(",") if value.strip()]
    if not all(isinstance(choice, bool | int | float | str) for choice in choices):
        raise ValueError(f"choices must be numbers, names, true or false, got {text!r}")
    return Dimension(key, tuple(dict.fromkeys(choices)))


def search_space(experiment: Experiment, over: Sequence[str]) -> tuple[Dimension, ...]:
    """The dimensions of ``--over``; by default the paper's grid of τ_std, for methods that have one.

    >>> from tailormix.experiments import read
    >>> search_space(read("moons"), [])[0].key
    'method.tau_std'
    >>> search_space(read("moons", ["method=mixup"]), [])
    Traceback (most recent call last):
    ValueError: method mixup has no tau_std: name what to search, like --over method.alpha=0.2,0.5,1
    """
    space = tuple(parse_dimension(text) for text in over)
    keys = [each.key for each in space]
    if twice := [key for key in keys if keys.count(key) > 1]:
        raise ValueError(f"--over must name a key once, got {twice[0]} twice")
    if space:
        return space
    options = method_options(experiment.method.name)
    if "tau_std" not in options:
        hint = "--over method.alpha=0.2,0.5,1" if "alpha" in options else "--over optimiser.lr=log:1e-4..0.1"
        raise ValueError(f"method {experiment.method.name} has no tau_std: name what to search, like {hint}")
    return (Dimension("method.tau_std", TAU_STD),)


def grid(space: Sequence[Dimension]) -> list[dict[str, Any]]:
    """Every combination of choices; empty where a range makes them endless.

    >>> grid([Dimension("a", (1, 2)), Dimension("b", ("x",))])
    [{'a': 1, 'b': 'x'}, {'a': 2, 'b': 'x'}]
    """
    if not all(each.choices for each in space):
        return []
    keys = [each.key for each in space]
    return [dict(zip(keys, row, strict=True)) for row in itertools.product(*(each.choices for each in space))]


def as_settings(values: Mapping[str, Any]) -> list[str]:
    """Values as ``--set`` takes them.

    >>> as_settings({"method.tau_std": 0.5, "method": "sk-mixup", "drop_last": True})
    ['method.tau_std=0.5', 'method=sk-mixup', 'drop_last=true']
    """
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in values.items()}
    return [f"{key}={text}" for key, text in texts.items()]
