"""The law of mixing coefficients against distance, drawn and computed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np
import torch
from matplotlib.colors import LogNorm

from tailormix.batch import Batch, Draws
from tailormix.coefficients import SeparatedBetas
from tailormix.kernel import similarity_kernel
from tailormix.warping import warp

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage
    from numpy.typing import NDArray

    from tailormix.components import Coefficients


DRAWS = 20_000  # evenly spaced, so that the shares of the bins carry no sampling noise
FAINTEST, STRONGEST = 0.05, 20.0  # densities outside are drawn like these


def mixing_density(
    distance: torch.Tensor, bins: int, tau_max: float = 1.0, tau_std: float = 0.25
) -> NDArray[np.float64]:
    """Density of ω_τ(u), u ~ U(0, 1), with τ = τ(d̄): the law of the coefficient of a pair at distance d̄.

    Args:
        distance: rescaled distances d̄ of pairs, (k,).
        bins: number of equal intervals of [0, 1].
        tau_max: the kernel's τ_max.
        tau_std: the kernel's τ_std.

    Returns:
        (bins, k); each column has mean 1. At d̄ = 1 and τ_max = 1 the law is uniform:

    >>> mixing_density(torch.tensor([1.0]), bins=4).ravel()
    array([1., 1., 1., 1.])

    """
    u = (torch.arange(DRAWS) + 0.5) / DRAWS
    tau = similarity_kernel(distance, tau_max, tau_std)
    columns = [np.histogram(warp(u, float(t)).numpy(), bins=bins, range=(0, 1))[0] for t in tau]
    return np.stack(columns, axis=1) * (bins / DRAWS)


def draw_density(
    axes: Axes, tau_max: float = 1.0, tau_std: float = 0.25, farthest: float = 2.0, cells: int = 121
) -> AxesImage:
    """Draw the kernel's heat map, with words for its two sides."""
    distance = torch.linspace(0, farthest, cells)
    image = draw_heat(axes, mixing_density(distance, cells, tau_max, tau_std), farthest)
    for x, y, side, text in (
        (0.05, 0.76, "left", "similar pairs:\nhalf and half"),
        (0.97, 0.5, "right", "distant pairs:\none or the other"),
    ):
        axes.text(
            x,
            y,
            text,
            transform=axes.transAxes,
            ha=side,
            va="center",
            color="#fffffe",
            alpha=0.85,
            fontsize=8.5,
        )
    return image


def draw_heat(axes: Axes, density: NDArray[np.float64], farthest: float = 2.0) -> AxesImage:
    """Draw a law: distance to the right, coefficient upwards, density as brightness (logarithmic)."""
    image = axes.imshow(
        density.clip(FAINTEST, STRONGEST),
        origin="lower",
        extent=(0, farthest, 0, 1),
        aspect="auto",
        cmap="magma",
        norm=LogNorm(FAINTEST, STRONGEST),
        interpolation="bilinear",
    )
    axes.axvline(1, color="#fffffe", linewidth=0.8, linestyle=(0, (4, 4)), alpha=0.7)
    axes.set_xlabel("distance of the pair, d̄  (1 = average)")
    axes.set_ylabel("mixing coefficient, ω(λ)")
    return image


LEVELS, BINS, FARTHEST = 1600, 80, 2.0


@final
@dataclass(frozen=True)
class Level:
    """Draws that all lie at one level u of their laws: swept over (0, 1), they trace any law without noise.

    >>> Level(0.25).uniform(2)
    tensor([0.2500, 0.2500])
    """

    u: float

    @property
    def device(self) -> torch.device:
        """Where the draws lie."""
        return torch.device("cpu")

    def uniform(self, *shape: int) -> torch.Tensor:
        """The level, in this shape."""
        return torch.full(shape, self.u)

    def beta(self, concentration: torch.Tensor) -> torch.Tensor:
        """The quantile of Beta(τ_i, τ_i) at the level."""
        return warp(self.uniform(*concentration.shape), concentration)


def coefficient_law(word: Coefficients) -> NDArray[np.float64] | None:
    """Density (BINS, BINS) of λ, upwards, at distances from 0 to FARTHEST; None if nothing is mixed.

    The method's own coefficients are asked about pairs at all these distances, once for every level of
    their draws. Each column has mean 1.

    >>> from tailormix import ERM, Mixup
    >>> coefficient_law(ERM().coefficients) is None
    True
    >>> coefficient_law(Mixup(alpha=1.0).coefficients).max()  # uniform at every distance
    np.float64(1.0)
    """
    batch, partner = _pairs(squared=getattr(word, "squared", True))
    if hasattr(word, "fit"):  # counts classes: all alike, since the pairs are none of the training set's
        batch = replace(batch, y=torch.zeros(len(batch), dtype=torch.long))
        word = word.fit(batch.y)
    lam = torch.stack([word(batch, partner, _draws(word, number)).lam[:BINS] for number in range(LEVELS)])
    if bool((lam == lam[0, 0]).all()):
        return None
    counts = [np.histogram(column, bins=BINS, range=(0, 1))[0] for column in lam.double().numpy().T]
    return np.stack(counts, axis=1) * (BINS / LEVELS)


def _draws(word: Coefficients, number: int) -> Any:
    if isinstance(word, SeparatedBetas):  # chooses among many candidates: those of one level are all alike
        return Draws(torch.device("cpu"), torch.Generator().manual_seed(number))
    return Level((number + 0.5) / LEVELS)


def _pairs(*, squared: bool) -> tuple[Batch, torch.Tensor]:
    """Pairs on a line, alike in all spaces, whose relative distances are the middles of equal steps."""
    distance = FARTHEST * (torch.arange(BINS, dtype=torch.float64) + 0.5) / BINS  # their mean is 1
    places = torch.cat((torch.zeros(BINS), distance.sqrt() if squared else distance))[:, None]
    partner = torch.cat((torch.arange(BINS, 2 * BINS), torch.arange(BINS)))
    return Batch(places, places, embeddings=places), partner
