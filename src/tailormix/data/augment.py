"""Augment and normalise batches of images on their device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    #: mean and standard deviation of each channel, on the scale 0 to 1
    MeanStd = tuple[Sequence[float], Sequence[float]]


@dataclass(frozen=True)
class ImageTransform:
    """Random crop after zero padding, random flip, then (x / maximum - mean) / std per channel.

    ``scale`` and ``shift`` (channels, 1, 1) hold the normalisation as x · scale + shift; make them with
    :func:`normalisation`. Draws come from a CPU generator and are moved to the images' device
    without waiting for it.
    """

    scale: Tensor
    shift: Tensor
    pad: int = 0
    flip: bool = False

    def __call__(self, images: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Map (n, channels, H, W) of any integer type to float32 of the same shape."""
        n, device = len(images), images.device
        if self.pad:
            shifts = torch.randint(2 * self.pad + 1, (2, n), generator=generator)
            top, left = shifts.to(device, non_blocking=True)
            images = crop(images, top, left, self.pad)
        if self.flip:
            mirrored = (torch.rand(n, generator=generator) < 0.5).to(device, non_blocking=True)
            images = torch.where(mirrored[:, None, None, None], images.flip(3), images)
        return images.to(torch.float32).mul_(self.scale).add_(self.shift)

    def to(self, device: torch.device | str) -> ImageTransform:
        """Return the transform with its constants on ``device``."""
        return ImageTransform(self.scale.to(device), self.shift.to(device), self.pad, self.flip)


def normalisation(mean: Sequence[float], std: Sequence[float], maximum: float = 255) -> tuple[Tensor, Tensor]:
    """Scale and shift such that x · scale + shift = (x / maximum - mean) / std.

    >>> scale, shift = normalisation([0.5], [0.5])
    >>> (torch.tensor([0.0, 255.0]) * scale.flatten() + shift.flatten()).tolist()
    [-1.0, 1.0]
    """
    centre = torch.tensor(mean, dtype=torch.float64)
    spread = torch.tensor(std, dtype=torch.float64)
    scale, shift = 1 / (maximum * spread), -centre / spread
    return scale.float()[:, None, None], shift.float()[:, None, None]


def crop(images: Tensor, top: Tensor, left: Tensor, pad: int) -> Tensor:
    """Cut a window from each zero-padded image at its ``top`` and ``left``, each in 0 … 2 · pad.

    >>> image = torch.tensor([[[[1, 2], [3, 4]]]])
    >>> crop(image, torch.tensor([0]), torch.tensor([1]), pad=1).tolist()
    [[[[0, 0], [1, 2]]]]
    """
    height, width = images.shape[2:]
    padded = torch.nn.functional.pad(images, (pad, pad, pad, pad))
    windows = padded.unfold(2, height, 1).unfold(3, width, 1)  # a view: (n, channels, shifts, shifts, H, W)
    return windows[torch.arange(len(images), device=images.device), :, top, left]
