"""ω_τ of a batch: by table, exactly, and by direct Beta sampling, against scipy."""

from __future__ import annotations

import torch
from scipy import special, stats

from benchmarks.record import Record, record
from tailormix import similarity_kernel, warp
from tailormix.benching.timing import race
from tailormix.draws import Draws
from tailormix.training.memory import keep_freed_memory
from tailormix.warping import beta_draw, steepness

SIZES = {128: 3.0, 1024: 12.0, 8192: 40.0}  # n, and how many times faster than beta.ppf warp is meant to be
PEER = "scipy.stats.beta.ppf"


def run(quick: bool) -> list[Record]:
    """Time every way to draw n coefficients, for the τ that SK Mixup meets (τ_max = 1, τ_std = 0.25)."""
    keep_freed_memory()
    return [row for n, target in SIZES.items() for row in _race(n, target, 0.05 if quick else 1.5)]


def _race(n: int, target: float, seconds: float) -> list[Record]:
    generator = torch.Generator().manual_seed(0)
    u = torch.rand(n, generator=generator)
    tau = similarity_kernel(2 * torch.rand(n, generator=generator), tau_max=1.0, tau_std=0.25)
    u64, tau64 = u.double().numpy(), tau.double().numpy()
    draws, steep = Draws(u.device), torch.tensor([steepness(each) for each in tau64.tolist()])
    timings = race(
        {
            "warp": lambda: warp(u, tau),
            "draw and warp, as methods do": lambda: beta_draw(draws.levels(n), steep),
            "warp, exact": lambda: warp(u, tau, exact=True),
            "direct Beta sampling": lambda: draws.beta(tau),
            PEER: lambda: stats.beta.ppf(u64, tau64, tau64),
            "scipy.special.betaincinv": lambda: special.betaincinv(tau64, tau64, u64),
        },
        seconds=seconds,
    )
    return [
        record("warp", f"n = {n}", name, timings, against=PEER, at_least=target if name == "warp" else None)
        for name in timings
        if name != PEER
    ]
