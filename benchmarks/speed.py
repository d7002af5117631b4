"""``python -m benchmarks speed``: the library's own work in a step, the batch form, the warp and the metrics.

Each benchmark is a function from seconds per contender to records. The peers are what a user would write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from scipy import special, stats
from torch import nn
from torch.nn import functional
from torchmetrics.functional.classification import multiclass_calibration_error

from benchmarks.harness import Record, race, record
from tailormix import Mixup, SKMixup, similarity_kernel, warp
from tailormix.batch import Draws
from tailormix.metrics import summary
from tailormix.models import build

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from benchmarks.harness import Contender

CLASSES = 10
LERP = "torch.lerp(x[perm], x, lam)"
PPF = "scipy.stats.beta.ppf"


def step(seconds: float) -> list[Record]:
    """A training step of SK Mixup against the same passes by hand, on a batch that was mixed before.

    The library's own work is everything but the model's passes. It is measured a second time as the loss of a
    model that does next to nothing, which is less noisy than the difference of two whole steps.
    """
    shape = (128, 3, 32, 32)
    x, y, _ = _batch(shape)
    torch.manual_seed(0)
    model, small, method = build("resnet8", num_classes=CLASSES), FirstPixels(), SKMixup()
    optimiser = torch.optim.SGD(model.parameters(), lr=1e-12)  # the weights stay as they are
    last, mixed = x.contiguous(memory_format=torch.channels_last), x.lerp(x.flip(0), 0.3)
    hard = functional.one_hot(y, CLASSES).float()
    targets = hard.lerp(hard.flip(0), 0.3)

    def update(loss: Tensor) -> None:
        torch.autograd.backward(loss)
        optimiser.step()
        optimiser.zero_grad()

    def by_hand() -> None:
        with torch.no_grad():
            model(last)  # the embeddings, with the memory format that the library uses
        update(functional.cross_entropy(model(mixed), targets))

    whole, hand, own = "step of SKMixup", "the same passes by hand", "SKMixup.loss without a network"
    contenders: dict[str, Contender] = {
        whole: lambda: update(method.loss(model, x, y)),
        hand: by_hand,
        own: lambda: torch.autograd.backward(method.loss(small, x, y)),
    }
    timings = race(contenders, seconds=seconds * 10, calls=1)
    size = f"ResNet-8, {_size(shape)}"
    return [
        record("own work in a step", size, whole, hand, timings, at_most=1.02),
        record("own work in a step", size, own, whole, timings, at_most=0.02),
    ]


class FirstPixels(nn.Module):
    """A model that costs next to nothing: what is left of a loss is the library's own work."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.head = nn.Linear(width, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (n, C) of the first pixels."""
        logits: Tensor = self.head(x.flatten(1)[:, : self.head.in_features])
        return logits


def batch_form(seconds: float) -> list[Record]:
    """The whole batch form of SK Mixup, embeddings given, against a plain blend of the inputs."""
    targets = {(128, 3, 32, 32): 1.6, (256, 3, 64, 64): 1.3}
    return [row for shape, at_most in targets.items() for row in _batch_form(shape, at_most, seconds)]


def _batch_form(shape: tuple[int, ...], at_most: float, seconds: float) -> list[Record]:
    x, y, h = _batch(shape)
    sk, mixup = SKMixup(num_classes=CLASSES), Mixup(num_classes=CLASSES)
    perm, lam = torch.randperm(len(x)), torch.rand(len(x), 1, 1, 1)
    contenders: dict[str, Contender] = {
        "SKMixup": lambda: sk(x, y, embeddings=h),
        "Mixup": lambda: mixup(x, y),
        LERP: lambda: torch.lerp(x[perm], x, lam),
    }
    timings = race(contenders, seconds=seconds * 3, calls=1)
    return [
        record("batch form", _size(shape), "SKMixup", LERP, timings, at_most=at_most),
        record("batch form", _size(shape), "Mixup", LERP, timings),
    ]


def warping(seconds: float) -> list[Record]:
    """ω_τ(u) of n samples, for the τ that SK Mixup meets (τ_max = 1, τ_std = 0.25), against scipy."""
    return [row for n, at_least in ((1024, 8.0), (8192, 25.0)) for row in _warping(n, at_least, seconds)]


def _warping(n: int, at_least: float, seconds: float) -> list[Record]:
    draws = Draws(torch.device("cpu"), torch.Generator().manual_seed(0))
    u, tau = draws.uniform(n), similarity_kernel(2 * draws.uniform(n), tau_max=1.0, tau_std=0.25)
    u64, tau64, device_draws = u.double().numpy(), tau.double().numpy(), Draws(torch.device("cpu"))
    contenders: dict[str, Contender] = {
        "warp": lambda: warp(u, tau),
        "warp, exact": lambda: warp(u, tau, exact=True),
        "draws of Beta(τ, τ)": lambda: device_draws.beta(tau),
        "betaincinv of scipy": lambda: special.betaincinv(tau64, tau64, u64),
        PPF: lambda: stats.beta.ppf(u64, tau64, tau64),
    }
    timings = race(contenders, seconds=seconds)
    first = record("warp", f"n = {n}", "warp", PPF, timings, at_least=at_least)
    return [first, *(record("warp", f"n = {n}", name, PPF, timings) for name in list(contenders)[1:-1])]


def metrics(seconds: float) -> list[Record]:
    """All classification metrics at once against ECE alone of torchmetrics."""
    rows, classes = 50_000, 100
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(rows, classes, generator=generator)
    targets = (logits / 1.7).softmax(1).multinomial(1, generator=generator)[:, 0]
    ours, peer = "all metrics", "torchmetrics, ECE alone"
    contenders: dict[str, Contender] = {
        ours: lambda: summary(logits, targets, from_logits=True),
        peer: lambda: multiclass_calibration_error(logits, targets, num_classes=classes, n_bins=15),
    }
    timings = race(contenders, seconds=seconds * 3, calls=1)
    return [record("metrics", f"{rows} rows, {classes} classes", ours, peer, timings)]


BENCHMARKS: dict[str, Callable[[float], list[Record]]] = {
    "step": step,
    "batch-form": batch_form,
    "warp": warping,
    "metrics": metrics,
}


def _batch(shape: tuple[int, ...]) -> tuple[Tensor, Tensor, Tensor]:
    """Images, classes and embeddings."""
    generator = torch.Generator().manual_seed(0)
    x, h = torch.rand(shape, generator=generator), torch.randn(shape[0], 512, generator=generator)
    return x, torch.randint(CLASSES, shape[:1], generator=generator), h


def _size(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape))
