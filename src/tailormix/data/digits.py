"""Scikit-learn's handwritten digits: images without any download."""

from __future__ import annotations

import torch

from .access.assemble import three_ways
from .access.augment import ImageTransform, normalisation
from .access.memory import MemorySplit
from .access.record import DataSplits

_INK = 16  # pixels count ink from 0 to 16


def load(seed: int, *, validation: float = 0.1, test: float = 0.2, augment: bool = True) -> DataSplits:
    """Read 1797 images (1, 8, 8) of 10 classes; shares are of all images; augmented by shifts of one pixel.

    >>> load(0).train.batch(torch.tensor([0, 1]))[0].shape
    torch.Size([2, 1, 8, 8])
    """
    from sklearn.datasets import load_digits

    bunch = load_digits()
    images = torch.from_numpy(bunch.images).to(torch.uint8).unsqueeze(1)
    labels = torch.from_numpy(bunch.target).long()
    rows = three_ways(len(labels), seed, validation, test, labels)
    ink = images[rows[0]].double() / _INK
    scale, shift = normalisation([ink.mean().item()], [ink.std().item()], maximum=_INK)
    plain = ImageTransform(scale, shift)
    train_transform = ImageTransform(scale, shift, pad=1) if augment else plain
    train, held, tested = (
        MemorySplit(images[part], labels[part], part, transform)
        for part, transform in zip(rows, (train_transform, plain, plain), strict=True)
    )
    return DataSplits("digits", "classification", train, held, tested, 10, tuple(map(str, range(10))))
