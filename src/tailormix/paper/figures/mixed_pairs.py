"""How often a trained model agrees with the mixed label, by distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tailormix import checks
from tailormix.batch import Plan
from tailormix.embeddings import catch_input
from tailormix.kernel import as_rows, similarity_kernel
from tailormix.warping import warp

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray
    from torch import Tensor, nn

    from tailormix.data.splits import Split

    Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class AgreementCurve:
    """Per bin of distance: where it begins and ends, mean distance, pairs, share that agree, its interval."""

    left: Numbers
    right: Numbers
    distance: Numbers
    count: Numbers
    agreement: Numbers
    low: Numbers
    high: Numbers

    def as_dict(self) -> dict[str, Any]:
        """Return a record for JSON."""
        return {name: value.tolist() for name, value in vars(self).items()}


def agrees(predicted: ArrayLike, first: ArrayLike, second: ArrayLike) -> NDArray[np.bool_]:
    """[ŷ_i ∈ {y_i, y_σ(i)}]: no manifold mismatch. All of shape (n,).

    >>> agrees([0, 1, 2], first=[0, 0, 0], second=[1, 1, 1]).tolist()
    [True, True, False]
    """
    guess = np.asarray(predicted)
    found: NDArray[np.bool_] = (guess == np.asarray(first)) | (guess == np.asarray(second))
    return found


def agreement_curve(
    distance: ArrayLike, agreeing: ArrayLike, *, n_bins: int = 20, confidence: float = 0.95
) -> AgreementCurve:
    """P(ŷ ∈ {y, y'} | distance) over bins that hold equally many pairs, with Wilson intervals.

    Args:
        distance: of the pairs, (n,).
        agreeing: whether the prediction is one of the two labels, (n,).
        n_bins: bins between quantiles of the distance; where distances repeat, equal ones share a bin, and
            bins that stay empty are left out.
        confidence: of the intervals.

    >>> agreement_curve([1, 2, 3, 4], [1, 1, 0, 1], n_bins=2).agreement
    array([1. , 0.5])

    """
    far, hit = (np.asarray(one, dtype=np.float64) for one in (distance, agreeing))
    if far.ndim != 1 or far.shape != hit.shape or not len(far):
        raise ValueError(
            f"distance and agreeing must be (n,) with n >= 1, got shapes {far.shape} and {hit.shape}"
        )
    if not np.isfinite(far).all():
        raise ValueError("distance must be finite, got NaN or infinity")
    checks.integer("n_bins", n_bins, at_least=1)
    edges = np.quantile(far, np.linspace(0, 1, n_bins + 1))
    index = np.clip(np.searchsorted(edges[1:-1], far, side="left"), 0, n_bins - 1)
    count = np.bincount(index, minlength=n_bins)
    full = count > 0
    sums = [np.bincount(index, weights=one, minlength=n_bins)[full] for one in (far, hit)]
    low, high = wilson(sums[1], count[full], confidence)
    return AgreementCurve(
        edges[:-1][full],
        edges[1:][full],
        sums[0] / count[full],
        count[full].astype(np.float64),
        sums[1] / count[full],
        low,
        high,
    )


def wilson(hits: ArrayLike, count: ArrayLike, confidence: float = 0.95) -> tuple[Numbers, Numbers]:
    """Wilson's interval of a share p̂ = k/n: (p̂ + z²/2n ± z √(p̂(1-p̂)/n + z²/4n²)) / (1 + z²/n).

    >>> [round(float(edge), 4) for edge in wilson(5, 10)]
    [0.2366, 0.7634]
    """
    from scipy.stats import norm

    if not 0 < checks.number("confidence", confidence) < 1:
        raise ValueError(f"confidence must lie in (0, 1), got {confidence}")
    k, n = (np.asarray(one, dtype=np.float64) for one in (hits, count))
    if not ((n > 0) & (k >= 0) & (k <= n)).all():
        raise ValueError("hits must lie in [0, count] and count must be > 0")
    z = norm.ppf((1 + confidence) / 2)
    share = k / n
    middle = share + z * z / (2 * n)
    half = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low, high = ((middle + sign * half) / (1 + z * z / n) for sign in (-1, 1))
    # At shares of 0 and 1 rounding would leave the range by a hair.
    return np.clip(low, 0, share), np.clip(high, share, 1)


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
    points = as_rows(features).double()
    lengths = torch.cat([(points[a] - points[b]).norm(dim=1) for a, b in _parts(near, far)])
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
    mixed = (
        Plan(b, part).blend(split.batch(a)[0], split.batch(b)[0]) for a, b, part in _parts(first, second, lam)
    )
    return torch.cat([model(x).argmax(1).cpu() for x in mixed])


def _parts(*columns: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """The columns (n,) side by side, some rows at a time."""
    return zip(*(torch.split(one, ROWS) for one in columns), strict=True)
