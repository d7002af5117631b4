"""LSTNet for multivariate series: convolution, GRU, context by skips or attention, and a highway."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, final, get_args

import torch
from torch import nn

from tailormix import checks

if TYPE_CHECKING:
    from torch import Tensor


Context = Literal["skip", "attention"]


@final
class LSTNet(nn.Module):
    """ŷ = W [h_L; c] + b + highway(last ``highway`` steps): (n, ``window``, ``series``) → (n, ``series``).

    h_L is the last state of a GRU over the convolved window. c is, with ``context="skip"``, the last states
    of a GRU that steps one ``period`` at a time and, with ``context="attention"``, Σ_t α_t h_t with
    α = softmax(h_t · h_L). The mixing point is ``conv`` (convolution, ReLU, dropout); ``companions`` names
    the module whose output must be blended with it, so that the highway sees the input-level mix.

    >>> sum(p.numel() for p in LSTNet("skip", series=8).parameters())
    19998
    """

    embedding_layer = "head"
    stages = ("conv",)
    companions = ("recent",)

    def __init__(
        self,
        context: Context,
        series: int = 8,
        window: int = 168,
        hidden: int = 50,
        skip_hidden: int = 5,
        kernel: int = 6,
        period: int = 24,
        highway: int = 24,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        checks.known("context", context, get_args(Context))
        checks.fraction("dropout", dropout)
        checks.integer("series", series, at_least=1)
        checks.integer("hidden", hidden, at_least=1)
        checks.integer("skip_hidden", skip_hidden, at_least=1)
        checks.integer("kernel", kernel, at_least=1)
        checks.integer("period", period, at_least=1)
        checks.integer("highway", highway, at_least=1)
        checks.integer("window", window, at_least=max(kernel + period, highway))
        self.conv = Convolution(series, hidden, kernel, dropout)
        self.gru = nn.GRU(hidden, hidden, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        if context == "skip":
            self.context: nn.Module = Skip(hidden, skip_hidden, period, (window - kernel) // period, dropout)
            self.head = nn.Linear(hidden + period * skip_hidden, series)
        else:
            self.context = Attention(dropout)
            self.head = nn.Linear(hidden + hidden, series)
        self.recent = Recent(highway)
        self.highway = nn.Linear(highway, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Map windows (n, window, series) to the values a horizon ahead (n, series)."""
        features = self.conv(x)
        states, _ = self.gru(features)
        context = self.context(features, states)
        out = self.head(torch.cat([self.dropout(states[:, -1]), context], dim=1))
        linear = self.highway(self.recent(x).transpose(1, 2)).squeeze(2)
        total: Tensor = out + linear
        return total


@final
class Convolution(nn.Module):
    """Dropout(ReLU(convolution over time and all series)): (n, P, m) → (n, P - kernel + 1, hidden)."""

    def __init__(self, series: int, hidden: int, kernel: int, dropout: float) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(1, hidden, (kernel, series))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Convolve; time stays axis 1."""
        hidden = torch.relu(self.convolution(x.unsqueeze(1))).squeeze(3).transpose(1, 2)
        out: Tensor = self.dropout(hidden)
        return out


@final
class Skip(nn.Module):
    """A GRU from each step to the one a period later: (n, L, hidden) → (n, period · size)."""

    def __init__(self, hidden: int, size: int, period: int, steps: int, dropout: float) -> None:
        super().__init__()
        self.period = period
        self.steps = steps
        self.gru = nn.GRU(hidden, size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, features: Tensor, states: Tensor) -> Tensor:
        """Run over the last ``steps`` periods, all phases of the period side by side."""
        del states  # the attention's share of the common signature
        n, hidden = features.shape[0], features.shape[2]
        periods = features[:, -self.steps * self.period :].reshape(n, self.steps, self.period, hidden)
        last = self.gru(periods.transpose(0, 1).reshape(self.steps, n * self.period, hidden))[1]
        out: Tensor = self.dropout(last.reshape(n, -1))
        return out


@final
class Attention(nn.Module):
    """c = Σ_t α_t h_t, α = softmax_t(h_t · h_L): states (n, L, hidden) → (n, hidden)."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(self, features: Tensor, states: Tensor) -> Tensor:
        """Weigh the states by their product with the last one."""
        del features  # the skip's share of the common signature
        alpha = torch.softmax(states @ states[:, -1].unsqueeze(2), dim=1)
        out: Tensor = self.dropout((alpha * states).sum(dim=1))
        return out


@final
class Recent(nn.Module):
    """The last ``steps`` steps of a window: (n, P, m) → (n, steps, m)."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.steps = steps

    def forward(self, x: Tensor) -> Tensor:
        """Cut the end off."""
        return x[:, -self.steps :]
