"""Data that several tests of the calibrators share."""

import numpy as np
import torch

from tailormix.calibration.predictions import Predictions


def distorted(
    n: int = 4000, classes: int = 5, temperature: float = 2.0, seed: int = 0
) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits whose softmax at ``temperature`` is the law of the targets."""
    random = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(n, classes, generator=random)
    return logits, torch.multinomial((logits / temperature).softmax(1), 1, generator=random)[:, 0]


def split(name: str | None, ids: object = None, n: int = 200, seed: int = 0) -> Predictions:
    logits, targets = distorted(n, seed=seed)
    return Predictions(targets=targets, logits=logits, ids=ids, split=name)


def gaussian(n: int = 4000, factor: float = 1.5, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, std and targets whose true standard deviation is ``factor`` times the predicted one."""
    random = np.random.default_rng(seed)
    mean, std = random.normal(size=n), random.uniform(0.5, 2.0, size=n)
    return mean, std, mean + factor * std * random.normal(size=n)
