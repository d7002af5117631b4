"""Data that several tests of the metrics share."""

import torch


def classifier(
    n: int = 600, classes: int = 7, seed: int = 0, scale: float = 2.0
) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits (n, C) in float64 and targets drawn from their softmax at temperature 1.5."""
    random = torch.Generator().manual_seed(seed)
    logits = scale * torch.randn(n, classes, generator=random, dtype=torch.float64)
    return logits, torch.multinomial((logits / 1.5).softmax(1), 1, generator=random)[:, 0]


def regressor(
    n: int = 400, outputs: int | None = None, seed: int = 0
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Mean, std and targets whose true spread is 1.3 times the predicted one."""
    random = torch.Generator().manual_seed(seed)
    shape = (n,) if outputs is None else (n, outputs)
    mean, noise = (torch.randn(shape, generator=random, dtype=torch.float64) for _ in range(2))
    std = 0.2 + torch.rand(shape, generator=random, dtype=torch.float64)
    return mean, std, mean + 1.3 * std * noise
