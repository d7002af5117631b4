"""Pairs of test points, mixed in several ways and shown to a trained model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from tailormix import checks
from tailormix.embeddings import catch_input
from tailormix.metrics.mismatch import agrees
from tailormix.plan import mix
from tailormix.similarity import euclidean, similarity_kernel
from tailormix.warping import warp

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor, nn

    from tailormix.data import Split

ROWS = 1000  # at a time
SPACES = ("embedding", "input")
#: how the coefficient λ of a pair is made from u ~ U(0, 1) and the pair's τ
LAWS = ("unmixed", "uniform", "similarity-kernel")


@dataclass(frozen=True, eq=False)
class MixedPairs:
    """What is known of each pair, (n,) each.

    Attributes:
        distance: d̄, squared and relative to the mean (Eq. 5).
        same_class: whether both are of one class.
        both_right: whether the model is right about both before they are mixed.
        agreeing: under each law of the coefficient, whether ŷ is one of the two labels.

    """

    distance: NDArray[np.float32]
    same_class: NDArray[np.bool_]
    both_right: NDArray[np.bool_]
    agreeing: dict[str, NDArray[np.bool_]]


def mixed_pairs(
    model: nn.Module,
    split: Split,
    *,
    pairs: int = 10_000,
    space: str = "embedding",
    tau_max: float = 1.0,
    tau_std: float = 0.25,
    seed: int = 0,
) -> MixedPairs:
    """x̃ = λ x_i + (1 - λ) x_σ(i) for pairs of a split, classified by ``model`` (which is in eval mode).

    The same pairs and the same u ~ U(0, 1) serve all laws: λ = 1 (unmixed), λ = u, and λ = ω_τ(u) with the
    kernel's τ (Eqs. 2 and 4). The mean distance is that over all pairs.
    """
    first, second = draw_pairs(len(split), pairs, generator := torch.Generator().manual_seed(seed))
    u = torch.rand(pairs, generator=generator)
    used = torch.zeros(len(split), dtype=torch.bool)
    used[first] = used[second] = True
    features, predicted = _alone(model, split, used.nonzero()[:, 0], checks.known("space", space, SPACES))
    near, far = (used.cumsum(0)[index] - 1 for index in (first, second))
    lengths = torch.cat([euclidean(features[a], features, b).double() for a, b in _parts(near, far)])
    distance = (lengths.square() / lengths.square().mean()).float()
    labels = [split.targets.cpu()[index] for index in (first, second)]
    right = (predicted[near] == labels[0]) & (predicted[far] == labels[1])
    sk = warp(u, similarity_kernel(distance, tau_max, tau_std))
    mixed = (_mixed(model, split, first, second, lam) for lam in (u, sk))
    agreeing = {
        law: agrees(guess.numpy(), *(one.numpy() for one in labels))
        for law, guess in zip(LAWS, (predicted[near], *mixed), strict=True)
    }
    return MixedPairs(distance.numpy(), (labels[0] == labels[1]).numpy(), right.numpy(), agreeing)


def draw_pairs(rows: int, pairs: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Positions (pairs,) of both partners: neighbours in shuffled orders, so that nobody meets himself.

    >>> first, second = draw_pairs(3, 3, torch.Generator().manual_seed(0))
    >>> sorted(first.tolist()), sorted(second.tolist()), bool((first == second).any())
    ([0, 1, 2], [0, 1, 2], False)
    """
    checks.integer("rows of the split", rows, at_least=2)
    checks.integer("pairs", pairs, at_least=1)
    orders = [torch.randperm(rows, generator=generator) for _ in range(-(-pairs // rows))]
    first, second = torch.cat(orders), torch.cat([order.roll(1) for order in orders])
    return first[:pairs], second[:pairs]


@torch.no_grad()
def _alone(model: nn.Module, split: Split, rows: Tensor, space: str) -> tuple[Tensor, Tensor]:
    """Features (n, d) and predicted classes (n,) of the points themselves."""
    features, predicted = [], []
    for (part,) in _parts(rows):
        x = split.batch(part)[0]
        if space == "input":
            features.append(x.cpu())
            predicted.append(model(x).argmax(1).cpu())
            continue
        with catch_input(model, None, len(x)) as caught:
            predicted.append(model(x).argmax(1).cpu())
        features.append(caught().cpu())
    return torch.cat(features), torch.cat(predicted)


@torch.no_grad()
def _mixed(model: nn.Module, split: Split, first: Tensor, second: Tensor, lam: Tensor) -> Tensor:
    """Predicted classes (n,) of the mixed points."""
    mixed = (mix(split.batch(a)[0], split.batch(b)[0], part) for a, b, part in _parts(first, second, lam))
    return torch.cat([model(x).argmax(1).cpu() for x in mixed])


def _parts(*columns: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """The columns (n,) side by side, some rows at a time."""
    return zip(*(torch.split(one, ROWS) for one in columns), strict=True)
