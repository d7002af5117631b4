"""From an image file to a uint8 tensor; all randomness is a row of uniforms given from outside."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from tailormix.data.files.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from PIL.Image import Image
    from torch import Tensor

#: attempts of a random crop before the central one is taken
_ATTEMPTS = 10
#: uniforms an augmented image needs: area and shape of each attempt, position (2), flip
DRAWS = 2 * _ATTEMPTS + 3
_SCALE = (0.08, 1.0)
_RATIO = (3 / 4, 4 / 3)


@dataclass(frozen=True)
class Decoder:
    """Random resized crop and flip (``augment``), or resize and central crop, to (3, size, size) uint8."""

    size: int
    augment: bool

    def __call__(self, path: str, draws: Sequence[float]) -> Tensor:
        """Decode the file; ``draws`` are ``DRAWS`` uniforms, none without ``augment``."""
        cut = (lambda image: random_crop(image, self.size, draws)) if self.augment else self._central
        return torch.from_numpy(read(path, cut))

    def _central(self, image: Image) -> Image:
        return central_crop(image, self.size)


def read(path: str, cut: Callable[[Image], Image]) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """Open as RGB (grey images get three equal channels), apply ``cut``, return (3, H, W)."""
    import PIL.Image

    try:
        with PIL.Image.open(path) as image:
            pixels = np.asarray(cut(image.convert("RGB")), dtype=np.uint8)
    except (OSError, SyntaxError) as error:  # Pillow raises SyntaxError for some broken files
        raise DataError(f"wrong file {path}: expected an image, got: {error}") from error
    return np.ascontiguousarray(pixels.transpose(2, 0, 1))


def read_all(paths: Sequence[str], size: int) -> Tensor:
    """Decode many images of exactly ``size`` x ``size`` into one (n, 3, size, size) uint8 tensor."""
    out = np.empty((len(paths), 3, size, size), dtype=np.uint8)

    def fill(k: int) -> None:
        image = read(paths[k], lambda image: image)
        if image.shape != out.shape[1:]:
            shape = f"{image.shape[1]} x {image.shape[2]}"
            raise DataError(f"wrong file {paths[k]}: expected {size} x {size} pixels, got {shape}")
        out[k] = image

    with ThreadPoolExecutor() as pool:  # Pillow decodes outside the interpreter's lock
        for _ in pool.map(fill, range(len(paths))):
            pass
    return torch.from_numpy(out)


def central_crop(image: Image, size: int) -> Image:
    """Resize the shorter side to size · 256 / 224, then cut the central ``size`` x ``size``."""
    from PIL.Image import Resampling

    width, height = image.size
    factor = round(size * 256 / 224) / min(width, height)
    resized = image.resize(
        (max(size, int(width * factor)), max(size, int(height * factor))), Resampling.BILINEAR
    )
    left, top = round((resized.width - size) / 2), round((resized.height - size) / 2)
    return resized.crop((left, top, left + size, top + size))


def random_crop(image: Image, size: int, draws: Sequence[float]) -> Image:
    """Cut 8 % to 100 % of the area at a shape of 3:4 to 4:3, resize to a square, flip half of them."""
    from PIL.Image import Resampling, Transpose

    width, height, left, top = _box(image.width, image.height, draws)
    cut = image.crop((left, top, left + width, top + height)).resize((size, size), Resampling.BILINEAR)
    return cut.transpose(Transpose.FLIP_LEFT_RIGHT) if draws[-1] < 0.5 else cut


def _box(image_width: int, image_height: int, draws: Sequence[float]) -> tuple[int, int, int, int]:
    """Return (width, height, left, top) of the first attempt that fits, else of the largest central crop."""
    area = image_width * image_height
    low, high = math.log(_RATIO[0]), math.log(_RATIO[1])
    for k in range(_ATTEMPTS):
        target = area * (_SCALE[0] + (_SCALE[1] - _SCALE[0]) * draws[2 * k])
        ratio = math.exp(low + (high - low) * draws[2 * k + 1])
        width, height = round(math.sqrt(target * ratio)), round(math.sqrt(target / ratio))
        if 0 < width <= image_width and 0 < height <= image_height:
            left = int(draws[-3] * (image_width - width + 1))
            top = int(draws[-2] * (image_height - height + 1))
            return width, height, left, top
    width = min(image_width, round(image_height * _RATIO[1]))
    height = min(image_height, round(image_width / _RATIO[0]))
    return width, height, (image_width - width) // 2, (image_height - height) // 2
