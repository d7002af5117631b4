"""Draws the pictures of the documentation with the library: ``python docs/make_pictures.py``.

With ``--demo`` also that of the README, which trains the toys of the demo for about ten seconds.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from tailormix import SKMixup, similarity_kernel, warp
from tailormix.atomic import write_atomically
from tailormix.data import load
from tailormix.reports import reliability_curve, reliability_diagram
from tailormix.reports.density import draw_kernel_density
from tailormix.reports.style import INK, QUIET, image_bytes, new_figure, plain_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito, from dark to light, so that a grey printer tells them apart too.
COLOURS = ("#000000", "#0072b2", "#d55e00", "#009e73", "#e69f00")
TAU_STDS = (0.2, 0.25, 0.4, 0.7, 1.5)
TAUS = (0.1, 0.3, 1.0, 3.0, 10.0)


def kernel() -> Figure:
    """τ against d̄ for several τ_std, on a logarithmic scale."""
    figure = new_figure(6.4, 3.6)
    axes = figure.subplots()
    distance = torch.linspace(0, 2, 201)
    for tau_std, colour in zip(TAU_STDS, COLOURS, strict=True):
        tau = similarity_kernel(distance, 1.0, tau_std)
        axes.semilogy(distance.numpy(), tau.numpy(), color=colour, linewidth=1.8, label=f"τ_std = {tau_std}")
    axes.axhline(1, color=QUIET, linewidth=0.8, linestyle=(0, (4, 4)))
    axes.axvline(1, color=QUIET, linewidth=0.8, linestyle=(0, (4, 4)))
    axes.set(ylim=(1e-3, 1e3), xlim=(0, 2), xlabel="distance of the pair, d̄  (1 = average)")
    axes.set_ylabel("strength of mixing, τ  (τ_max = 1)")
    return _with_legend(figure, axes, "upper right")


def warps() -> Figure:
    """ω_τ against u for several τ."""
    figure = new_figure(5.2, 4.2)
    axes = figure.subplots()
    u = torch.linspace(0, 1, 401)
    for tau, colour in zip(TAUS, COLOURS, strict=True):
        axes.plot(u.numpy(), warp(u, tau).numpy(), color=colour, linewidth=1.8, label=f"τ = {tau:g}")
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="uniform draw, u", ylabel="mixing coefficient, ω_τ(u)")
    return _with_legend(figure, axes, "upper left")


def density() -> Figure:
    """The law of the coefficient against distance: gentle and steep kernels beside each other."""
    figure = new_figure(9, 3.4)
    panels = figure.subplots(1, 3, sharey=True)
    for axes, (tau_max, tau_std) in zip(panels, ((1.0, 0.25), (1.0, 0.7), (0.1, 0.25)), strict=True):
        draw_kernel_density(axes, tau_max, tau_std)
        axes.set_title(f"τ_max = {tau_max:g}, τ_std = {tau_std:g}", fontsize=10, color=INK)
    for axes in panels[1:]:
        axes.set_ylabel("")
        for text in list(axes.texts):
            text.remove()
    return figure


def pairs() -> Figure:
    """Six pairs of digits from near to far: the sample, its partner, and what SK Mixup makes of them."""
    rows = load("digits", augment=False).train
    x, y = rows.batch(torch.arange(512))
    generator = torch.Generator().manual_seed(1)
    mixup = SKMixup(tau_max=1.0, tau_std=0.25, space="input", num_classes=10)
    plan = mixup.plan(x, y, generator=generator)
    mixed = plan.blend(x)
    order = plan.distance.argsort()
    order = order[plan.partner[order] != order]
    chosen = order[torch.linspace(0.0, 1.0, 6).mul(len(order) - 1).long()].tolist()
    figure = new_figure(8, 4.3)
    for column, sample in enumerate(zip(*figure.subplots(3, 6), strict=True)):
        row = chosen[column]
        for axes, image in zip(sample, (x[row], x[plan.partner[row]], mixed[row]), strict=True):
            axes.imshow(image[0].numpy(), cmap="gray_r")
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set_color(QUIET)
        tau = f"{plan.tau[row]:.0f}" if plan.tau[row] > 10 else f"{plan.tau[row]:.2g}"
        sample[0].set_title(f"d̄ = {plan.distance[row]:.2f}\nτ = {tau}", fontsize=9, color=INK)
        sample[2].set_xlabel(f"λ = {plan.lam[row]:.2f}", fontsize=9, color=INK)
        if column == 0:
            for axes, name in zip(sample, ("sample", "partner", "mixed"), strict=True):
                axes.set_ylabel(name, fontsize=9, color=INK)
    return figure


def reliability() -> Figure:
    """A model that says 95 % and is right 80 % of the time, more or less: made-up predictions."""
    generator = torch.Generator().manual_seed(0)
    sure = 0.55 + 0.45 * torch.rand(4000, generator=generator)
    right = torch.rand(4000, generator=generator) < 0.5 + 0.65 * (sure - 0.5)
    probabilities = torch.stack([1 - sure, sure], dim=1)
    return reliability_diagram(reliability_curve(probabilities, right.long(), binary="top-label"))


STEPS = (  # what is called, where, and what it computes
    ("method.loss(model, x, y)", "method.py", "checks the batch"),
    ("MixedTargets", "objectives/mixed.py", "what is learned"),
    ("RandomPairs", "pairs.py", "who:  partner σ"),
    ("SimilarityKernel", "coefficients.py", "how strongly:  u ~ U(0, 1)"),
    ("embed", "embeddings.py", "h(x), without gradient"),
    ("pair_distance", "kernel.py", "d̄   (Eq. 5)"),
    ("similarity_kernel", "kernel.py", "τ = τ_max exp(-(d̄ - 1) / 2τ_std²)   (Eq. 4)"),
    ("warp", "warping.py", "λ = ω_τ(u)   (Eq. 2)"),
    ("Linear", "interpolation.py", "how:  on the inputs"),
    ("Plan.blend", "batch.py", "λ x + (1 - λ) x_σ, and the same for y"),
    ("criterion(model(x̃), ỹ)", "objectives/mixed.py", "the loss"),
)


def batch() -> Figure:
    """The walk of one batch through the default method, from top to bottom."""
    figure = new_figure(7.6, 5.4)
    axes = figure.subplots()
    axes.set(xlim=(0, 10), ylim=(-len(STEPS) + 0.4, 0.6))
    axes.axis("off")
    for number, (call, file, meaning) in enumerate(STEPS):
        equation = file in ("kernel.py", "warping.py")
        box = {
            "boxstyle": "round,pad=0.35",
            "facecolor": "#e8f1f8" if equation else "#ffffff",
            "edgecolor": QUIET,
        }
        axes.text(2.1, -number, call, ha="center", va="center", fontsize=9.5, color=INK, bbox=box)
        axes.text(4.4, -number, file, va="center", fontsize=8.5, color=QUIET, family="monospace")
        axes.text(6.7, -number, meaning, va="center", fontsize=9, color=INK)
        if number:
            axes.annotate(
                "",
                (2.1, -number + 0.32),
                (2.1, -number + 0.68),
                arrowprops={"arrowstyle": "->", "color": QUIET},
            )
    return figure


def demo(path: Path) -> None:
    """The toys of the demo with its own settings."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
    import demo_figures
    import demo_toys

    with tempfile.TemporaryDirectory() as folder:
        weights = Path(folder) / "toys.safetensors"
        demo_toys.learn(demo_toys.EPOCHS, demo_toys.SEEDS, weights)
        demo_figures.overview_png(demo_toys.results(weights, demo_toys.SEEDS), path)


def _with_legend(figure: Figure, axes: Axes, where: str) -> Figure:
    plain_axes(axes)
    axes.legend(frameon=False, fontsize=9, loc=where, labelcolor=INK)
    return figure


PICTURES = {
    "kernel": kernel,
    "warps": warps,
    "density": density,
    "pairs": pairs,
    "batch": batch,
    "reliability": reliability,
}


def main(arguments: list[str] | None = None) -> None:
    """Write all pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "images", help="folder")
    parser.add_argument("--demo", action="store_true", help="draw demo.png too")
    options = parser.parse_args(arguments)
    for name, draw in PICTURES.items():
        write_atomically(options.out / f"{name}.png", image_bytes(draw(), dpi=110))
    if options.demo:
        demo(options.out / "demo.png")


if __name__ == "__main__":
    main()
