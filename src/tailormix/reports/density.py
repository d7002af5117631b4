"""The density of mixing coefficients against the distance of the pair, computed and drawn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from tailormix.batch import Batch, Draws
from tailormix.components import SeparatedCoefficients
from tailormix.kernel import similarity_kernel
from tailormix.warping import warp

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage
    from numpy.typing import NDArray

    from tailormix.components import Coefficients


DRAWS = 20_000
FAINTEST, STRONGEST = 0.05, 20.0  # densities outside are drawn like these
LEVELS, BINS, FARTHEST = 400, 80, 2.0
WHITE = "#fffffe"  # not #ffffff, which follows the theme of a page


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
    u = (torch.arange(DRAWS) + 0.5) / DRAWS  # evenly spaced, so that the histogram has no sampling noise
    tau = similarity_kernel(distance, tau_max, tau_std)
    columns = [np.histogram(warp(u, float(t)).numpy(), bins=bins, range=(0, 1))[0] for t in tau]
    return np.stack(columns, axis=1) * (bins / DRAWS)


def coefficient_density(component: Coefficients) -> NDArray[np.float64] | None:
    """Density (BINS, BINS) of a method's λ, upwards, at distances from 0 to FARTHEST; None without mixing.

    The component is called on pairs at all these distances, once for every level u of its uniform draws,
    which traces the quantile function λ(u) at each distance. Each column of the density has mean 1.

    >>> from tailormix import ERM, Mixup
    >>> coefficient_density(ERM().coefficients) is None
    True
    >>> coefficient_density(Mixup(alpha=1.0).coefficients).max().round(3)  # uniform at every distance
    np.float64(1.0)
    """
    batch, partner = _pairs(squared=getattr(component, "squared", True))
    if hasattr(component, "fit"):  # it counts classes: these pairs have one
        batch = replace(batch, y=torch.zeros(len(batch), dtype=torch.long))
        component = component.fit(batch.y)
    levels = (torch.arange(LEVELS) + 0.5) / LEVELS
    if isinstance(component, SeparatedCoefficients):  # it selects among random candidates
        drawn = component.pairs(Draws(torch.device("cpu"), torch.Generator().manual_seed(0)), DRAWS)[0]
        lam = drawn.quantile(levels)[:, None].expand(-1, BINS)
    else:
        draws: list[Any] = [FixedDraws(float(u)) for u in levels]
        lam = torch.stack([component(batch, partner, one).lam[:BINS] for one in draws])
    if bool((lam == lam[0, 0]).all()):
        return None
    edges = np.linspace(0, 1, BINS + 1)
    return np.stack([_binned(column, levels.numpy(), edges) for column in lam.double().numpy().T], axis=1)


@dataclass(frozen=True)
class FixedDraws:
    """Stands for :class:`tailormix.batch.Draws`: every uniform draw is ``u``, every Beta draw its u-quantile.

    >>> FixedDraws(0.25).uniform(2)
    tensor([0.2500, 0.2500])
    """

    u: float
    device: ClassVar[torch.device] = torch.device("cpu")

    def uniform(self, *shape: int) -> torch.Tensor:
        """``u`` in this shape."""
        return torch.full(shape, self.u)

    def beta(self, concentration: torch.Tensor) -> torch.Tensor:
        """The quantile of Beta(τ_i, τ_i) at ``u``."""
        return warp(self.uniform(*concentration.shape), concentration)


def _binned(
    quantiles: NDArray[np.float64], levels: NDArray[np.float64], edges: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Density in the bins between ``edges``, from the distribution function through the quantiles."""
    below = np.interp(edges, np.sort(quantiles), levels, left=0, right=1)
    below[0], below[-1] = 0, 1
    found: NDArray[np.float64] = np.diff(below) * (len(edges) - 1)
    return found


def _pairs(*, squared: bool) -> tuple[Batch, torch.Tensor]:
    """Pairs on a line, the same in all spaces, with relative distances in the middles of BINS equal steps."""
    distance = FARTHEST * (torch.arange(BINS, dtype=torch.float64) + 0.5) / BINS  # their mean is 1
    places = torch.cat((torch.zeros(BINS), distance.sqrt() if squared else distance))[:, None]
    partner = torch.cat((torch.arange(BINS, 2 * BINS), torch.arange(BINS)))
    return Batch(places, places, embeddings=places), partner


def draw_kernel_density(
    axes: Axes, tau_max: float = 1.0, tau_std: float = 0.25, farthest: float = 2.0, cells: int = 121
) -> AxesImage:
    """Draw the heat map of the similarity kernel, with a text for its two sides."""
    distance = torch.linspace(0, farthest, cells)
    image = draw_heat_map(axes, mixing_density(distance, cells, tau_max, tau_std), farthest)
    for x, y, side, text in (
        (0.05, 0.76, "left", "similar pairs:\nhalf and half"),
        (0.97, 0.5, "right", "distant pairs:\none or the other"),
    ):
        note = axes.text(x, y, text, transform=axes.transAxes, ha=side, va="center")
        note.set(color=WHITE, alpha=0.85, fontsize=8.5)
    return image


def draw_heat_map(axes: Axes, density: NDArray[np.float64], farthest: float = 2.0) -> AxesImage:
    """Draw a density: distance to the right, coefficient upwards, density as brightness (logarithmic)."""
    from matplotlib.colors import LogNorm

    image = axes.imshow(
        density.clip(FAINTEST, STRONGEST),
        origin="lower",
        extent=(0, farthest, 0, 1),
        aspect="auto",
        cmap="magma",
        norm=LogNorm(FAINTEST, STRONGEST),
        interpolation="bilinear",
    )
    axes.axvline(1, color=WHITE, linewidth=0.8, linestyle=(0, (4, 4)), alpha=0.7)
    axes.set_xlabel("distance of the pair, d̄  (1 = average)")
    axes.set_ylabel("mixing coefficient, ω(λ)")
    return image
