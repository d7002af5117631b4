"""ω_τ of a batch: by table, exactly, and by direct Beta sampling, against scipy."""

from __future__ import annotations

import torch
from scipy import special, stats

from benchmarks.record import Record, record
from tailormix import similarity_kernel, warp
from tailormix.batch import Draws
from tailormix.benching.timing import race

SIZES = {128: None, 1024: 8.0, 8192: 25.0}  # n, and how many times faster than beta.ppf warp is meant to be
PEER = "scipy.stats.beta.ppf"


def run(quick: bool) -> list[Record]:
    """Time every way to draw n coefficients, for the τ that SK Mixup meets (τ_max = 1, τ_std = 0.25)."""
    return [row for n, target in SIZES.items() for row in _race(n, target, 0.05 if quick else 1.5)]


def _race(n: int, target: float | None, seconds: float) -> list[Record]:
    generator = torch.Generator().manual_seed(0)
    u = torch.rand(n, generator=generator)
    tau = similarity_kernel(2 * torch.rand(n, generator=generator), tau_max=1.0, tau_std=0.25)
    u64, tau64 = u.double().numpy(), tau.double().numpy()
    draws = Draws(u.device)
    timings = race(
        {
            "warp": lambda: warp(u, tau),
            "draw and warp": lambda: warp(draws.uniform(n), tau),
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
