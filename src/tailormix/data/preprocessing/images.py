"""Images, cropped and normalised."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np
import torch

from tailormix import checks
from tailormix.data.files.location import DataError
from tailormix.data.pixels import ENLARGE, IMAGENET_MEAN_STD, image_paths, normalisation, read_images
from tailormix.data.preprocessing.arrays import read_array
from tailormix.data.preprocessing.base import Preprocessing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


@final
class ImagePreprocessing(Preprocessing):
    """(x / maximum - mean) / std per channel, for images of ``shape`` (channels, height, width).

    Files are resized such that they cover ``enlarge`` times that height and width, and the centre is cut out.
    ``maximum`` is the largest value of a pixel: files are brought to the scale 0 … maximum.

    >>> images = torch.tensor([0, 255], dtype=torch.uint8).reshape(1, 1, 1, 2)
    >>> ImagePreprocessing((1, 1, 2), [0.5], [0.5])(images).tolist()
    [[[[-1.0, 1.0]]]]
    """

    kind = "image"
    scale: Tensor
    shift: Tensor

    def __init__(
        self,
        shape: Sequence[int],
        mean: Sequence[float],
        std: Sequence[float],
        *,
        maximum: int = 255,
        enlarge: float = 1.0,
    ) -> None:
        super().__init__()
        channels, height, width = shape
        self.shape = (channels, height, width)
        self.mean, self.std = tuple(mean), tuple(std)
        self.maximum, self.enlarge = checks.integer("maximum", maximum, at_least=1), enlarge
        scale, shift = normalisation(self.mean, self.std, maximum)
        self.register_buffer("scale", scale, persistent=False)
        self.register_buffer("shift", shift, persistent=False)

    def read(self, source: Any) -> Tensor:
        """Images (n, channels, height, width) as uint8.

        ``source`` is an image file, a list of them, a folder of images or of class folders, a uint8 array
        of that shape, or the file of one, .npy or .npz with an array x.
        """
        if (paths := image_paths(source)) is not None:
            images = read_images(paths, self.shape, self.enlarge)
            return images if self.maximum == 255 else images.float().mul(self.maximum / 255).round().byte()
        name, raw = read_array(source)
        if raw.dtype != np.uint8 or raw.shape[1:] != self.shape:
            shape = f"(n, {', '.join(map(str, self.shape))})"
            raise DataError(
                f"cannot use {name}: expected uint8 images of shape {shape}, "
                f"got {raw.dtype} of shape {raw.shape}"
            )
        return torch.from_numpy(np.ascontiguousarray(raw))

    def forward(self, raw: Tensor) -> Tensor:
        """Normalised images (n, channels, height, width)."""
        return raw.float() * self.scale + self.shift

    def facts(self) -> dict[str, Any]:
        """Shape, mean and standard deviation of the channels, and how files are brought to that shape."""
        return {
            "shape": list(self.shape),
            "mean": list(self.mean),
            "std": list(self.std),
            "maximum": self.maximum,
            "enlarge": self.enlarge,
        }

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> ImagePreprocessing:
        """Of those facts: nothing is left to be loaded."""
        return cls(**facts)


def photographs(size: int) -> ImagePreprocessing:
    """The central crops of photographs, (3, size, size), normalised with the constants of ImageNet."""
    return ImagePreprocessing((3, size, size), *IMAGENET_MEAN_STD, enlarge=ENLARGE)
