"""Similarity Kernel Mixup and its family: the paper's own methods, each one sentence of four words.

Imports without torch, like :mod:`tailormix.methods`, whose conventions it shares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import tailormix as tm
from tailormix import coefficients as c
from tailormix import interpolation as i
from tailormix import objectives as o
from tailormix import pairs as p

if TYPE_CHECKING:
    from tailormix.batch import Space
    from tailormix.method import Method


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
    return tm.Method(
        p.RandomPairs(partners),
        c.SimilarityKernel(
            tau_max, tau_std, tau_max_targets, tau_std_targets, space, kind, sampling, squared
        ),
        i.Linear(),
        o.MixedTargets(),
        num_classes,
        embedding_layer,
    )


def SKRegMixup(
    tau_max: float = 10.0,
    tau_std: float = 0.25,
    *,
    space: Space | None = None,
    extra_pass: bool = False,
    partners: str = "batch",
    num_classes: int | None = None,
    embedding_layer: str | None = None,
) -> Method:
    """RegMixup with the similarity kernel, at no extra pass (the paper's method)."""
    return tm.Method(
        p.RandomPairs(partners),
        c.SimilarityKernel(tau_max, tau_std, space=space),
        i.Linear(),
        o.Regulariser(extra_pass),
        num_classes,
        embedding_layer,
    )


def SKCutMix(
    tau_max: float = 1.0,
    tau_std: float = 0.25,
    *,
    space: Space | None = None,
    probability: float = 1.0,
    num_classes: int | None = None,
    embedding_layer: str | None = None,
) -> Method:
    """CutMix with the similarity kernel, a box for each pair (the paper's method)."""
    return tm.Method(
        p.RandomPairs(),
        c.SimilarityKernel(tau_max, tau_std, space=space),
        i.CutBox("sample", probability),
        o.MixedTargets(),
        num_classes,
        embedding_layer,
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
) -> Method:
    """Manifold Mixup with the similarity kernel (unpublished: a sentence that the parts allow)."""
    return tm.Method(
        p.RandomPairs(),
        c.SimilarityKernel(tau_max, tau_std, space=space),
        i.HiddenLayer(layers, inputs),
        o.MixedTargets(),
        num_classes,
        embedding_layer,
    )
