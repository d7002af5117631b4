"""The law of the mixing coefficient against the distance of the pair, under the similarity kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from scipy.stats import beta

from tailormix.kernel import similarity_kernel
from tailormix.paper.drawing import FigureResult, figure_settings, write_figure
from tailormix.reports.density import draw_kernel_density
from tailormix.reports.style import new_figure, plain_axes

if TYPE_CHECKING:
    from pathlib import Path


DEFAULTS: dict[str, Any] = {"tau_max": 1.0, "tau_std": 0.25, "farthest": 2.0, "cells": 121}
DISTANCES = (0.0, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)


def make(settings: dict[str, Any], runs: Path, out: Path) -> FigureResult:
    """Draw the density of ω_τ(λ), λ ~ U(0, 1), with τ the kernel's at distance d̄ (needs no run).

    Settings: ``tau_max``, ``tau_std``, ``farthest`` distance, ``cells`` of the heat map along each axis.
    """
    del runs
    chosen = figure_settings(settings, DEFAULTS)
    figure = new_figure(5.4, 4.0)
    axes = figure.subplots()
    image = draw_kernel_density(axes, **chosen)
    plain_axes(axes)
    axes.grid(False)
    bar = figure.colorbar(image, ax=axes, pad=0.02, ticks=[0.1, 1, 10], format="%g")
    bar.set_label("density", fontsize=10)
    bar.outline.set_visible(False)
    caption = (
        "Density of the mixing coefficient against the distance of the pair: similar pairs are mixed half "
        f"and half, distant ones hardly at all (τ_max {chosen['tau_max']}, τ_std {chosen['tau_std']})."
    )
    laws = [law_at(distance, chosen["tau_max"], chosen["tau_std"]) for distance in DISTANCES]
    return write_figure(figure, "density", out, {"caption": caption, "settings": chosen, "laws": laws})


def law_at(distance: float, tau_max: float, tau_std: float) -> dict[str, float]:
    """The Beta(τ, τ) at distance d̄: its τ, its standard deviation 1/√(8τ + 4), and P(¼ ≤ λ ≤ ¾).

    >>> law_at(1.0, 1.0, 0.25)
    {'distance': 1.0, 'tau': 1.0, 'std': 0.288675..., 'strongly mixed': 0.5}
    """
    tau = float(similarity_kernel(torch.tensor([distance], dtype=torch.float64), tau_max, tau_std)[0])
    inner = float(beta.cdf(0.75, tau, tau) - beta.cdf(0.25, tau, tau))
    return {"distance": distance, "tau": tau, "std": (8 * tau + 4) ** -0.5, "strongly mixed": inner}
