"""How the law of the mixing coefficient changes with distance, as a heat map (the paper's density figure)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from matplotlib.colors import LogNorm

from tailormix.similarity import similarity_kernel
from tailormix.warping import warp

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage
    from numpy.typing import NDArray

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
