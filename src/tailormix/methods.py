"""The published methods, each a recipe of four components: who · how strongly · how · what is learned.

``METHODS`` names all of them; to add one, write its recipe here and its line there. The batch form needs
``num_classes`` with class indices. ``embedding_layer`` names the layer whose input is the embedding;
``update_statistics`` lets the pass that measures embeddings update BatchNorm's statistics, as released.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailormix import checks
from tailormix import coefficients as c
from tailormix import interpolation as i
from tailormix import objectives as o
from tailormix import pairs as p
from tailormix.method import Method

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tailormix.batch import Space


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
    update_statistics: bool = False,
) -> Method:
    """Random pairs, mixed the more strongly the more similar they are (the paper's method)."""
    return Method(
        p.RandomPairs(partners),
        c.SimilarityKernel(
            tau_max, tau_std, tau_max_targets, tau_std_targets, space, kind, sampling, squared
        ),
        i.Linear(),
        o.MixedTargets(),
        num_classes,
        embedding_layer,
        update_statistics,
    )


def SKRegMixup(
    tau_max: float = 10.0,
    tau_std: float = 0.25,
    *,
    space: Space | None = None,
    extra_pass: bool = True,
    partners: str = "batch",
    num_classes: int | None = None,
    embedding_layer: str | None = None,
    update_statistics: bool = False,
) -> Method:
    """RegMixup with the similarity kernel (the paper's method).

    As in RegMixup, BatchNorm sees the clean and the mixed half together, in one pass of 2n samples. With
    ``extra_pass=False`` a step saves the pass that measures embeddings, but BatchNorm normalises the two
    halves apart, each by its own n samples: another method, with another calibration.
    """
    return Method(
        p.RandomPairs(partners),
        c.SimilarityKernel(tau_max, tau_std, space=space),
        i.Linear(),
        o.Regulariser(extra_pass),
        num_classes,
        embedding_layer,
        update_statistics,
    )


def SKCutMix(
    tau_max: float = 1.0,
    tau_std: float = 0.25,
    *,
    space: Space | None = None,
    probability: float = 1.0,
    num_classes: int | None = None,
    embedding_layer: str | None = None,
    update_statistics: bool = False,
) -> Method:
    """CutMix with the similarity kernel, a box for each pair (the paper's method)."""
    return Method(
        p.RandomPairs(),
        c.SimilarityKernel(tau_max, tau_std, space=space),
        i.CutBox("sample", probability),
        o.MixedTargets(),
        num_classes,
        embedding_layer,
        update_statistics,
    )


def SKManifoldMixup(
    tau_max: float = 1.0,
    tau_std: float = 0.25,
    *,
    layers: tuple[str, ...] | None = None,
    inputs: bool = True,
    space: Space | None = None,
    num_classes: int | None = None,
    embedding_layer: str | None = None,
    update_statistics: bool = False,
) -> Method:
    """Manifold Mixup with the similarity kernel (unpublished: a recipe that the components allow)."""
    return Method(
        p.RandomPairs(),
        c.SimilarityKernel(tau_max, tau_std, space=space),
        i.HiddenLayer(layers, inputs),
        o.MixedTargets(),
        num_classes,
        embedding_layer,
        update_statistics,
    )


def ERM(*, num_classes: int | None = None) -> Method:
    """Plain training: no mixing at all."""
    return Method(p.SelfPairs(), c.Constant(1.0), i.Identity(), o.CleanTargets(), num_classes)


def Mixup(
    alpha: float = 1.0, *, per: str = "batch", partners: str = "batch", num_classes: int | None = None
) -> Method:
    """Random pairs, one λ ~ Beta(α, α) for the batch (Zhang et al., 2018)."""
    return Method(p.RandomPairs(partners), c.Beta(alpha, per), i.Linear(), o.MixedTargets(), num_classes)


def MixupIO(alpha: float = 1.0, *, per: str = "batch", num_classes: int | None = None) -> Method:
    """Mixup of the inputs only: the target of the sample that dominates."""
    return Method(
        p.RandomPairs(), c.InputsOnly(c.Beta(alpha, per)), i.Linear(), o.MixedTargets(), num_classes
    )


def MixupTO(alpha: float = 1.0, *, per: str = "batch", num_classes: int | None = None) -> Method:
    """Mixup of the targets only: the input of the sample that dominates."""
    return Method(
        p.RandomPairs(), c.TargetsOnly(c.Beta(alpha, per)), i.Linear(), o.MixedTargets(), num_classes
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
    return Method(
        p.RandomPairs(), c.Warped(tau, tau_targets, per, kind), i.Linear(), o.MixedTargets(), num_classes
    )


def ManifoldMixup(
    alpha: float = 1.0,
    *,
    layers: tuple[str, ...] | None = None,
    inputs: bool = True,
    per: str = "batch",
    num_classes: int | None = None,
) -> Method:
    """Mixup at the input or at a hidden layer, drawn for each batch (Verma et al., 2019)."""
    return Method(
        p.RandomPairs(), c.Beta(alpha, per), i.HiddenLayer(layers, inputs), o.MixedTargets(), num_classes
    )


def RegMixup(
    alpha: float = 10.0, *, per: str = "batch", partners: str = "batch", num_classes: int | None = None
) -> Method:
    """The clean batch, with a Mixup batch as a regulariser (Pinto et al., 2022)."""
    return Method(p.RandomPairs(partners), c.Beta(alpha, per), i.Linear(), o.Regulariser(), num_classes)


def RankMixup(
    alpha: float = 2.0, *, weight: float = 0.1, mixes: int = 3, num_classes: int | None = None
) -> Method:
    """Confidences ranked like mixing coefficients, by M-NDCG (Noh et al., 2023)."""
    return Method(p.RandomPairs(), c.Beta(alpha), i.Linear(), o.RankedConfidence(weight, mixes), num_classes)


def RankMixupMRL(
    alpha: float = 2.0, *, weight: float = 0.1, margin: float = 2.0, num_classes: int | None = None
) -> Method:
    """Mixed samples less confident than clean ones by a margin, MRL (Noh et al., 2023)."""
    return Method(p.RandomPairs(), c.Beta(alpha), i.Linear(), o.RankedMargin(weight, margin), num_classes)


def MITL(alpha: float = 1.0, *, margin: float = 0.5, num_classes: int | None = None) -> Method:
    """Two mixtures of each pair, told apart at the logits (Wang et al., 2023)."""
    return Method(
        p.RandomPairs(), c.SeparatedBetas(alpha, margin), i.Linear(), o.DecoupledLogits(), num_classes
    )


def MITA(
    alpha: float = 1.0,
    *,
    margin: float = 0.5,
    layers: tuple[str, ...] | None = None,
    num_classes: int | None = None,
) -> Method:
    """Two mixtures of each pair, told apart and mixed again after every stage (Wang et al., 2023)."""
    return Method(
        p.RandomPairs(), c.SeparatedBetas(alpha, margin), i.Linear(), o.DecoupledStages(layers), num_classes
    )


def CMixup(
    alpha: float = 1.0,
    *,
    bandwidth: float = 1.0,
    per: str = "batch",
    partners: str = "pool",
    num_classes: int | None = None,
) -> Method:
    """Partners with similar labels, for regression (Yao et al., 2022)."""
    return Method(
        p.LabelDensity(bandwidth, partners), c.Beta(alpha, per), i.Linear(), o.MixedTargets(), num_classes
    )


def CutMix(
    alpha: float = 1.0, *, probability: float = 1.0, per: str = "batch", num_classes: int | None = None
) -> Method:
    """A box of one image in the other, labels by its area (Yun et al., 2019)."""
    return Method(
        p.RandomPairs(), c.Beta(alpha, per), i.CutBox(per, probability), o.MixedTargets(), num_classes
    )


def KMixup(
    alpha: float = 1.0,
    *,
    k: int = 16,
    squared: bool = True,
    per: str = "batch",
    partners: str = "batch",
    num_classes: int | None = None,
) -> Method:
    """Groups of k matched with groups of k by optimal transport (Greenewald et al., 2023)."""
    return Method(
        p.OptimalTransport(k, squared=squared, source=partners),
        c.Beta(alpha, per),
        i.Linear(),
        o.MixedTargets(),
        num_classes,
    )


def LocalMixup(
    alpha: float = 1.0,
    *,
    weighting: str = "exponential",
    sigma: float = 5e-4,
    epsilon: float = 1.0,
    k: int = 10,
    per: str = "batch",
    partners: str = "batch",
    num_classes: int | None = None,
) -> Method:
    """Mixup whose loss counts less for pairs that are far apart (Baena et al., 2022)."""
    return Method(
        p.RandomPairs(partners),
        c.Beta(alpha, per),
        i.Linear(),
        o.LocallyWeighted(weighting, sigma, epsilon, k),
        num_classes,
    )


def Remix(
    alpha: float = 1.0,
    *,
    kappa: float = 3.0,
    threshold: float = 0.5,
    per: str = "batch",
    counts: tuple[float, ...] | None = None,
    num_classes: int | None = None,
) -> Method:
    """Mixup whose labels favour the rarer class (Chou et al., 2020)."""
    return Method(
        p.RandomPairs(),
        c.Remix(alpha, kappa, threshold, per, counts),
        i.Linear(),
        o.MixedTargets(),
        num_classes,
    )


def QuantileMixup(
    q: float = 0.5,
    side: str = "lower",
    *,
    alpha: float = 1.0,
    space: Space | None = None,
    per: str = "batch",
    num_classes: int | None = None,
    embedding_layer: str | None = None,
    update_statistics: bool = False,
) -> Method:
    """Mixup of pairs below, or above, a quantile of all distances (the paper's distance study)."""
    return Method(
        p.DistanceQuantile(q, side, space),
        c.Beta(alpha, per),
        i.Linear(),
        o.MixedTargets(),
        num_classes,
        embedding_layer,
        update_statistics,
    )


def TwoBeta(
    alpha_near: float = 10.0,
    alpha_far: float = 0.1,
    *,
    space: Space | None = None,
    num_classes: int | None = None,
    embedding_layer: str | None = None,
    update_statistics: bool = False,
) -> Method:
    """One Beta for near pairs and another for far ones (the paper's simpler baseline)."""
    return Method(
        p.RandomPairs(),
        c.TwoBeta(alpha_near, alpha_far, space),
        i.Linear(),
        o.MixedTargets(),
        num_classes,
        embedding_layer,
        update_statistics,
    )


@dataclass(frozen=True)
class Entry:
    """A method in the registry.

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
        """Settings with their default values."""
        parameters = inspect.signature(self.build).parameters.values()
        skipped = ("num_classes", "embedding_layer")
        return {p.name: p.default for p in parameters if p.name not in skipped and p.default is not None}


METHODS: dict[str, Entry] = {
    "erm": Entry(ERM, "§4.1", "n"),
    "mixup": Entry(Mixup, "§3", "n"),
    "mixup-io": Entry(MixupIO, "App. G.1", "n"),
    "mixup-to": Entry(MixupTO, "App. G.1", "n"),
    "warped-mixup": Entry(WarpedMixup, "§3.2", "n"),
    "manifold-mixup": Entry(ManifoldMixup, "§4.2", "n"),
    "regmixup": Entry(RegMixup, "§4.2", "2n"),
    "rankmixup": Entry(RankMixup, "§4.2", "n + 3n"),
    "rankmixup-mrl": Entry(RankMixupMRL, "§4.2", "n + n"),
    "mit-l": Entry(MITL, "§4.2", "n + n"),
    "mit-a": Entry(MITA, "§4.2", "2n"),
    "c-mixup": Entry(CMixup, "§4.3", "n"),
    "cutmix": Entry(CutMix, "App. M", "n"),
    "k-mixup": Entry(KMixup, "§2.1", "n"),
    "local-mixup": Entry(LocalMixup, "§2.1", "n"),
    "remix": Entry(Remix, "§2.1", "n"),
    "quantile-mixup": Entry(QuantileMixup, "App. D", "n + n without gradient"),
    "two-beta": Entry(TwoBeta, "App. L", "n + n without gradient"),
    "sk-mixup": Entry(SKMixup, "§3.3", "n + n without gradient"),
    "sk-regmixup": Entry(SKRegMixup, "§4.2", "2n + n without gradient"),
    "sk-cutmix": Entry(SKCutMix, "App. M", "n + n without gradient"),
    "sk-manifold-mixup": Entry(SKManifoldMixup, "—", "n + n without gradient"),
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


AUTO = "auto"  # the value of a setting that sets itself


def without_auto(name: str, settings: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """The settings of a method without that of its strength if it is "auto", and whether it is.

    >>> without_auto("sk-mixup", {"tau_max": "auto", "tau_std": 0.5})
    ({'tau_std': 0.5}, True)
    """
    found = [key for key, value in settings.items() if value == AUTO]
    coefficients: Any = build_method(name).coefficients
    strength = getattr(getattr(coefficients, "coefficients", coefficients), "strength", None)
    if strength not in inspect.signature(METHODS[name].build).parameters:
        strength = None
    for key in found:
        if key != strength:
            answer = f"only {strength} can be" if strength else f"{name} has no strength that could be"
            raise ValueError(f'{key} = "{AUTO}": {answer} set automatically')
    return {key: value for key, value in settings.items() if key not in found}, bool(found)
