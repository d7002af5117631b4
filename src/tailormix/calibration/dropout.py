"""Monte Carlo dropout: a predicted mean and standard deviation from any module with dropout (Gal 2016)."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import nn

from tailormix import checks

if TYPE_CHECKING:
    from collections.abc import Iterator


DROPOUT = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout)


@dataclass(frozen=True, eq=False)
class MonteCarlo:
    """Mean and standard deviation (population form, without a noise term) over stochastic passes."""

    mean: torch.Tensor
    std: torch.Tensor


@contextmanager
def mc_dropout(model: nn.Module, *, also: tuple[type[nn.Module], ...] = ()) -> Iterator[nn.Module]:
    """Put the model in evaluation mode with only its dropout switched on; afterwards all is as before.

    Dropout layers, and dropout inside recurrent and attention layers, are found. A module
    that calls ``torch.nn.functional.dropout`` with ``training=self.training`` is not visible: name its
    class in ``also``.

    >>> model = nn.Sequential(nn.Dropout(0.5), nn.BatchNorm1d(3))
    >>> with mc_dropout(model):
    ...     [module.training for module in model]
    [True, False]
    """
    modules = list(model.modules())
    before = [module.training for module in modules]
    random = [module for module in modules if _drops(module) or isinstance(module, also)]
    if not random:
        raise ValueError(f"model must have dropout with p > 0, got none in {type(model).__name__}; see also=")
    model.eval()
    # In evaluation mode the encoder layer takes a fused path without dropout; its flag guards only that path.
    random += [module for module in modules if isinstance(module, nn.TransformerEncoderLayer)]
    for module in random:
        module.training = True
    try:
        yield model
    finally:
        for module, training in zip(modules, before, strict=True):
            module.training = training


def _drops(module: nn.Module) -> bool:
    """Whether train mode of this module alone means dropout."""
    if isinstance(module, DROPOUT):
        return module.p > 0
    return isinstance(module, (nn.RNNBase, nn.MultiheadAttention)) and module.dropout > 0


@torch.no_grad()
def predict(
    model: nn.Module,
    x: torch.Tensor,
    *,
    samples: int = 50,
    seed: int = 0,
    batch_size: int | None = None,
    also: tuple[type[nn.Module], ...] = (),
) -> MonteCarlo:
    """Return mean and standard deviation of ``model(x)`` over ``samples`` passes with dropout.

    The global random state is left as it was. ``batch_size`` bounds the memory of a pass; x is (n, ...).

    >>> model = nn.Sequential(nn.Linear(2, 4), nn.Dropout(0.5), nn.Linear(4, 1))
    >>> predict(model, torch.ones(3, 2), samples=5).std.shape
    torch.Size([3, 1])
    """
    checks.integer("samples", samples, at_least=1)
    parts = torch.split(x, checks.integer("batch_size", batch_size or max(1, len(x)), at_least=1))
    devices = [x.device] if x.device.type == "cuda" else []
    with mc_dropout(model, also=also), torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        found = [_moments(model, part, samples) for part in parts]
    return MonteCarlo(torch.cat([mean for mean, _ in found]), torch.cat([std for _, std in found]))


def _moments(model: nn.Module, x: torch.Tensor, samples: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return mean and standard deviation by Welford's update: no pass is stored, nothing cancels."""
    mean = square = torch.zeros((), device=x.device)
    for count in range(1, samples + 1):
        out = model(x).double() if x.device.type == "cpu" else model(x).float()
        away = out - mean
        mean = mean + away / count
        square = square + away * (out - mean)
    dtype = x.dtype if x.is_floating_point() else torch.float32
    return mean.to(dtype), (square / samples).sqrt().to(dtype)
