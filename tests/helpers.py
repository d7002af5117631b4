"""Shared by tests: references by scipy in float64, and small models."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from scipy import special
from torch import nn

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

ROOT = Path(__file__).parents[1]


def quantile(u: Array, tau: Array) -> Array:
    """The Beta(τ, τ) quantile at u, by scipy, from the smaller tail."""
    tail = special.betaincinv(tau, tau, np.minimum(u, 1 - u))
    return np.where(u > 0.5, 1 - tail, tail)


def graph_distance(u: Array, tau: Array, omega: Array) -> Array:
    """min(|ω̂ - ω_τ(u)|, |F_τ(ω̂) - u|): how far (u, ω̂) is from the graph of ω_τ, up and sideways."""
    return np.minimum(abs(omega - quantile(u, tau)), abs(special.betainc(tau, tau, omega) - u))


def run_python(code: str, arguments: list[str] | None = None) -> str:
    """Run code in a fresh process and return what it printed."""
    return run_program("-c", code, *(arguments or []))


def run_program(*arguments: str) -> str:
    """``python ARGUMENTS`` with one thread, from the root of the project; what it printed."""
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


class Counting(nn.Module):
    """A small classifier of vectors that counts its forward passes."""

    def __init__(self, width: int = 6, outputs: int = 3) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(width, 8), nn.Tanh())
        self.head = nn.Linear(8, outputs)
        self.passes = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.passes += 1
        return self.head(self.body(x.flatten(1)))


def conv_net(outputs: int = 3) -> nn.Sequential:
    """Convolution, BatchNorm, dropout, pooling, linear."""
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4, outputs),
    )
