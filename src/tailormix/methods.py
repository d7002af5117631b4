"""The published methods, each one sentence of four words: who · how strongly · how · what is learned.

This module imports without torch, so that the methods can be listed at once.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailormix import checks, coefficients, interpolation, objectives, pairs

if TYPE_CHECKING:
    from collections.abc import Callable

    from tailormix.batch import Space
    from tailormix.method import Method
    from tailormix.words import Coefficients, Interpolation, Objective, Pairs


def _sentence(
    who: Pairs,
    how_strongly: Coefficients,
    how: Interpolation,
    what: Objective,
    *,
    num_classes: int | None,
    embedding_layer: str | None = None,
) -> Method:
    from tailormix.method import Method

    return Method(who, how_strongly, how, what, num_classes, embedding_layer)


def ERM(*, num_classes: int | None = None) -> Method:
    """Plain training: no mixing at all."""
    return _sentence(
        pairs.SelfPairs(),
        coefficients.Constant(1.0),
        interpolation.Identity(),
        objectives.CleanTargets(),
        num_classes=num_classes,
    )


def Mixup(
    alpha: float = 1.0, *, per: str = "batch", partners: str = "batch", num_classes: int | None = None
) -> Method:
    """Random pairs, one λ ~ Beta(α, α) for the batch (Zhang et al., 2018)."""
    return _sentence(
        pairs.RandomPairs(partners),
        coefficients.Beta(alpha, per),
        interpolation.Linear(),
        objectives.MixedTargets(),
        num_classes=num_classes,
    )


def MixupIO(alpha: float = 1.0, *, per: str = "batch", num_classes: int | None = None) -> Method:
    """Mixup of the inputs only: the target of the sample that dominates."""
    return _sentence(
        pairs.RandomPairs(),
        coefficients.InputsOnly(coefficients.Beta(alpha, per)),
        interpolation.Linear(),
        objectives.MixedTargets(),
        num_classes=num_classes,
    )


def MixupTO(alpha: float = 1.0, *, per: str = "batch", num_classes: int | None = None) -> Method:
    """Mixup of the targets only: the input of the sample that dominates."""
    return _sentence(
        pairs.RandomPairs(),
        coefficients.TargetsOnly(coefficients.Beta(alpha, per)),
        interpolation.Linear(),
        objectives.MixedTargets(),
        num_classes=num_classes,
    )


def WarpedMixup(
    tau: float = 1.0,
    tau_targets: float | None = None,
    *,
    per: str = "batch",
    kind: str = "inverse_beta",
    num_classes: int | None = None,
) -> Method:
    """One uniform draw, warped by constants for inputs and targets (Eq. 3)."""
    return _sentence(
        pairs.RandomPairs(),
        coefficients.Warped(tau, tau_targets, per, kind),
        interpolation.Linear(),
        objectives.MixedTargets(),
        num_classes=num_classes,
    )


def SKMixup(
    tau_max: float = 1.0,
    tau_std: float = 0.25,
    *,
    tau_max_targets: float | None = None,
    tau_std_targets: float | None = None,
    space: Space | None = None,
    kind: str = "inverse_beta",
    sampling: str = "warp",
    squared: bool = True,
    partners: str = "batch",
    num_classes: int | None = None,
    embedding_layer: str | None = None,
) -> Method:
    """Random pairs, mixed the more strongly the more similar they are (the paper's method)."""
    return _sentence(
        pairs.RandomPairs(partners),
        coefficients.SimilarityKernel(
            tau_max, tau_std, tau_max_targets, tau_std_targets, space, kind, sampling, squared
        ),
        interpolation.Linear(),
        objectives.MixedTargets(),
        num_classes=num_classes,
        embedding_layer=embedding_layer,
    )


@dataclass(frozen=True)
class Entry:
    """A method in the list.

    Attributes:
        build: makes the method from its settings.
        section: where the paper speaks of it.
        passes: samples forwarded with gradient, and without, for a batch of n.

    """

    build: Callable[..., Method]
    section: str
    passes: str

    @property
    def summary(self) -> str:
        """One line about it."""
        return (self.build.__doc__ or "").splitlines()[0]

    @property
    def defaults(self) -> dict[str, Any]:
        """Settings with the values they have when nobody says otherwise."""
        parameters = inspect.signature(self.build).parameters.values()
        skipped = ("num_classes", "embedding_layer")
        return {p.name: p.default for p in parameters if p.name not in skipped and p.default is not None}


METHODS: dict[str, Entry] = {
    "erm": Entry(ERM, "§4.1", "n"),
    "mixup": Entry(Mixup, "§3", "n"),
    "mixup-io": Entry(MixupIO, "App. E.1", "n"),
    "mixup-to": Entry(MixupTO, "App. E.1", "n"),
    "warped-mixup": Entry(WarpedMixup, "§3.2", "n"),
    "sk-mixup": Entry(SKMixup, "§3.3", "n + n without gradient"),
}


def build_method(name: str, **settings: Any) -> Method:
    """The published method of that name, with its settings.

    >>> build_method("sk-mixup", tau_std=0.5).coefficients.tau_std
    0.5
    >>> build_method("sk-mxup")
    Traceback (most recent call last):
    ValueError: unknown method 'sk-mxup'; did you mean 'sk-mixup'? Known: erm, ...
    """
    build = METHODS[checks.known("method", name, METHODS)].build
    for setting in settings:
        checks.known(f"setting of {name}", setting, inspect.signature(build).parameters)
    return build(**settings)
