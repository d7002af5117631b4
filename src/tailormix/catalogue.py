"""The methods by name: what the command line and experiments know. Imports without torch."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailormix import checks, methods, sk_methods

if TYPE_CHECKING:
    from collections.abc import Callable

    from tailormix.method import Method


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
    "erm": Entry(methods.ERM, "§4.1", "n"),
    "mixup": Entry(methods.Mixup, "§3", "n"),
    "mixup-io": Entry(methods.MixupIO, "App. G.1", "n"),
    "mixup-to": Entry(methods.MixupTO, "App. G.1", "n"),
    "warped-mixup": Entry(methods.WarpedMixup, "§3.2", "n"),
    "manifold-mixup": Entry(methods.ManifoldMixup, "§4.2", "n"),
    "regmixup": Entry(methods.RegMixup, "§4.2", "2n"),
    "rankmixup": Entry(methods.RankMixup, "§4.2", "n + 3n"),
    "rankmixup-mrl": Entry(methods.RankMixupMRL, "§4.2", "n + n"),
    "mit-l": Entry(methods.MITL, "§4.2", "n + n"),
    "mit-a": Entry(methods.MITA, "§4.2", "2n"),
    "c-mixup": Entry(methods.CMixup, "§4.3", "n"),
    "cutmix": Entry(methods.CutMix, "App. M", "n"),
    "k-mixup": Entry(methods.KMixup, "§2.1", "n"),
    "local-mixup": Entry(methods.LocalMixup, "§2.1", "n"),
    "remix": Entry(methods.Remix, "§2.1", "n"),
    "quantile-mixup": Entry(methods.QuantileMixup, "App. D", "n + n without gradient"),
    "two-beta": Entry(methods.TwoBeta, "App. L", "n + n without gradient"),
    "sk-mixup": Entry(sk_methods.SKMixup, "§3.3", "n + n without gradient"),
    "sk-regmixup": Entry(sk_methods.SKRegMixup, "§4.2", "n + n"),
    "sk-cutmix": Entry(sk_methods.SKCutMix, "App. M", "n + n without gradient"),
    "sk-manifold-mixup": Entry(sk_methods.SKManifoldMixup, "—", "n + n without gradient"),
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
