"""Multi-layer perceptrons: a plain one, and the network of three layers for Airfoil."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, final

from torch import nn
from torch.nn import functional

from tailormix import checks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


@final
class MLP(nn.Module):
    """h_k = Dropout(ReLU(W_k h_{k-1} + b_k)), output W h_K + b: (n, ...) → (n, ``out_features``).

    Inputs are flattened. Each hidden block is a stage. The defaults are the toy network: 2 → 20 → 2.

    >>> import torch
    >>> MLP(hidden=(20, 20))(torch.zeros(3, 2)).shape
    torch.Size([3, 2])
    """

    embedding_layer = "head"

    def __init__(
        self,
        in_features: int = 2,
        out_features: int = 2,
        hidden: Sequence[int] = (20,),
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        checks.fraction("dropout", dropout)
        sizes = [checks.integer("in_features", in_features, at_least=1)]
        sizes += [checks.integer("hidden", size, at_least=1) for size in hidden]
        self.blocks = nn.Sequential(
            *(
                nn.Sequential(nn.Linear(a, b), nn.ReLU(), nn.Dropout(dropout))
                for a, b in itertools.pairwise(sizes)
            )
        )
        self.head = nn.Linear(sizes[-1], checks.integer("out_features", out_features, at_least=1))
        self.stages = tuple(f"blocks.{k}" for k in range(len(self.blocks)))

    def forward(self, x: Tensor) -> Tensor:
        """Map x of shape (n, ...) to (n, ``out_features``)."""
        out: Tensor = self.head(self.blocks(x.flatten(1)))
        return out


@final
class FCN3(nn.Module):
    """Three linear layers, LeakyReLU(0.1) between them, dropout after the first: (n, 5) → (n, 1).

    The dropout is the only site of MC dropout, and its output the mixing point.

    >>> sum(p.numel() for p in FCN3().parameters())
    17409
    """

    embedding_layer = "head"
    stages = ("dropout",)

    def __init__(
        self, in_features: int = 5, out_features: int = 1, hidden: int = 128, dropout: float = 0.2
    ) -> None:
        super().__init__()
        checks.fraction("dropout", dropout)
        checks.integer("in_features", in_features, at_least=1)
        checks.integer("out_features", out_features, at_least=1)
        checks.integer("hidden", hidden, at_least=1)
        self.first = nn.Linear(in_features, hidden)
        self.dropout = nn.Dropout(dropout)
        self.second = nn.Linear(hidden, hidden)
        self.head = nn.Linear(hidden, out_features)

    def forward(self, x: Tensor) -> Tensor:
        """Map x of shape (n, ...) to (n, ``out_features``)."""
        hidden = self.dropout(functional.leaky_relu(self.first(x.flatten(1)), 0.1))
        hidden = functional.leaky_relu(self.second(hidden), 0.1)
        out: Tensor = self.head(hidden)
        return out
