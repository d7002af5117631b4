"""Randomness: everything that a method draws, from an explicit generator or from the device's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import float32, logit, rand, randn, randperm
from torch.compiler import is_dynamo_compiling

from tailormix.warping import LEVEL_SCALE

if TYPE_CHECKING:
    from torch import Tensor


LEAST = 2.0**-25  # stands for the draw 0: the middle of the interval up to the next one of a CPU
GRAINS = ("batch", "sample")  # how finely coefficients may be drawn
SMALLEST, LARGEST = 1e-30, 1e30  # stand for the shape parameters 0 and ∞


class Draws:
    """Random numbers on ``device``.

    With a ``generator`` (a CPU generator) the numbers are drawn there and moved, so one seed gives one result
    on every device. Without one they come from the device's own generator, with no copy and no wait.
    """

    def __init__(self, device: torch.device, generator: torch.Generator | None = None) -> None:
        if generator is not None and generator.device.type != "cpu":
            raise ValueError(f"generator must be a CPU generator, got one on {generator.device}")
        self.device, self.generator = device, generator

    def uniform(self, *shape: int) -> Tensor:
        """U(0, 1), of the given shape."""
        if self.generator is None:
            # numbers are cheaper than a tuple of them
            return rand(*shape or ((),), dtype=float32, device=self.device)
        draw = torch.rand(shape, generator=self.generator, dtype=torch.float32, device="cpu")
        return draw.to(self.device)

    def levels(self, n: int) -> Tensor:
        """Where n draws lie in their law: standard normal, z for the quantile at Φ(z).

        Quantiles take fewer operations from normal numbers than from uniform ones; see
        :func:`tailormix.warping.beta_draw`.
        """
        if self.generator is None:
            return randn(n, dtype=float32, device=self.device)
        return randn(n, generator=self.generator, dtype=float32, device="cpu").to(self.device)

    def logistic_levels(self, n: int) -> Tensor:
        """The same as logits of uniform numbers, 3/8 · logit u for the quantile at u."""
        return logit(self.uniform(n), LEAST) * LEVEL_SCALE

    def permutation(self, n: int) -> Tensor:
        """A uniform permutation of n indices."""
        if is_dynamo_compiling():  # an index of inductor may not come from randperm
            return self.uniform(n).argsort()
        if self.generator is None:
            return randperm(n, device=self.device)
        return torch.randperm(n, generator=self.generator, device="cpu").to(self.device)

    def below(self, n: int, count: int) -> Tensor:
        """``count`` indices, uniform in {0, ..., n-1}, with replacement."""
        if self.generator is None:
            return torch.randint(n, (count,), device=self.device)
        return torch.randint(n, (count,), generator=self.generator, device="cpu").to(self.device)

    def choice(self, n: int) -> int:
        """One index below n, on the host: drawn there, so that no device has to be waited for."""
        return int(torch.randint(n, (), generator=self.generator, device="cpu"))

    def beta(self, concentration: Tensor) -> Tensor:
        """Beta(τ_i, τ_i) directly, as a ratio of two gammas on the logarithmic scale, safe for any τ_i."""
        shape = concentration.clamp(SMALLEST, LARGEST)
        first, second = self._log_gamma(shape), self._log_gamma(shape)
        return torch.sigmoid(first - second)

    def _log_gamma(self, shape: Tensor) -> Tensor:
        """Log of Gamma(a) = Gamma(a+1) · U^(1/a): small shapes would underflow without the logarithm."""
        u = self.uniform(*shape.shape).clamp_(min=torch.finfo(torch.float32).tiny)
        if self.generator is None:
            gamma = torch._standard_gamma(shape + 1)
        else:
            gamma = torch._standard_gamma((shape + 1).cpu(), generator=self.generator).to(self.device)
        return gamma.log() + u.log() / shape


def random_levels(draws: Draws, n: int) -> tuple[Tensor, bool]:
    """Places of n draws in their law, and whether they are logistic: the compiler has uniform numbers faster.

    Asked once and handed on, since of a graph that breaks the rest may be compiled or not.
    """
    return (draws.logistic_levels(n), True) if is_dynamo_compiling() else (draws.levels(n), False)
