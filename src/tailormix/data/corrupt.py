"""Corrupted images: noise, blur, light and compression at five severities, seeded, for any image data.

The corruptions follow the kinds of CIFAR-10-C, but not its exact recipes: numbers on both cannot be compared.
Lengths are shares of the image's side, so that 28 and 96 pixels suffer alike.
"""

from __future__ import annotations

import hashlib
import io
import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.nn import functional

from tailormix import checks
from tailormix.data.pixels import ENLARGE, StreamSplit, read_images
from tailormix.data.preprocessing import ImagePreprocessing
from tailormix.data.splits import LazySplit, MemorySplit

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from tailormix.data.splits import DataSplits, Split

    #: images in [0, 1], (n, channels, H, W), a severity and a generator → images
    Corruption = Callable[[Tensor, int, torch.Generator], Tensor]

SEVERITIES = (1, 2, 3, 4, 5)
#: images that are corrupted by the draws of one generator
CHUNK = 500


def corrupt(images: Tensor, kind: str, severity: int = 3, seed: int = 0) -> Tensor:
    """The images (n, channels, H, W), uint8, after one corruption; equal seeds give equal bits.

    >>> images = torch.full((1, 1, 4, 4), 100, dtype=torch.uint8)
    >>> corrupt(images, "brightness", severity=1).unique().tolist()
    [126]
    """
    if images.dtype != torch.uint8 or images.dim() != 4:
        raise ValueError(
            f"images must be uint8 of shape (n, channels, H, W), got {images.dtype} of {tuple(images.shape)}"
        )
    change = CORRUPTIONS[checks.known("kind", kind, CORRUPTIONS)]
    if severity not in SEVERITIES:
        raise ValueError(f"severity must be one of {SEVERITIES}, got {severity!r}")
    generator = torch.Generator().manual_seed(seed)
    changed = change(images.cpu().float() / 255, severity, generator)
    return (changed.clamp(0, 1) * 255).round().to(torch.uint8).to(images.device)


def with_corrupted_tests(splits: DataSplits, kinds: Any, severities: Any, limit: int | None) -> DataSplits:
    """The splits with one further test part for each kind and severity, such as ``gaussian-noise-3``.

    A part is made when it is read. Its draws depend on kind and severity alone, so that all runs see the same
    images; ``limit`` takes so many test rows, the same for all.
    """
    kinds, severities = chosen_kinds(kinds), chosen_severities(severities)
    if not isinstance(splits.preprocessing, ImagePreprocessing):
        raise ValueError(f"corrupt is for images, and {splits.name} has none")
    rows, maximum = corrupted_rows(len(splits.test), limit), splits.preprocessing.maximum
    make = partial(_corrupted, splits.test, rows, maximum)
    shape, targets, ids = splits.input_shape, splits.test.targets[rows], splits.test.ids[rows]
    parts = {
        f"{kind}-{severity}": LazySplit(targets, ids, shape, partial(make, kind, severity))
        for kind in kinds
        for severity in severities
    }
    return replace(splits, shifts={**splits.shifts, **parts})


def _corrupted(split: Split, rows: Tensor, maximum: int, kind: str, severity: int) -> MemorySplit:
    images = corrupt_in_chunks(pixels(split, rows, maximum), kind, severity)
    scaled = images if maximum == 255 else (images.float() * (maximum / 255)).round().to(torch.uint8)
    transform = getattr(split, "transform", None)
    return MemorySplit(scaled, split.targets[rows], split.ids[rows], transform)


def corrupt_in_chunks(images: Tensor, kind: str, severity: int) -> Tensor:
    """The images (n, channels, H, W) after one corruption, ``CHUNK`` by ``CHUNK``, each with its own seed."""
    chunks = [
        corrupt(chunk, kind, severity, chunk_seed(kind, severity, number))
        for number, chunk in enumerate(torch.split(images, CHUNK))
    ]
    return torch.cat(chunks)


def chunk_seed(kind: str, severity: int, number: int) -> int:
    """The seed of the ``number``-th chunk of images."""
    digest = hashlib.sha256(f"{kind}-{severity}-{number}".encode()).digest()
    return int.from_bytes(digest[:7], "little")


def corrupted_rows(n: int, limit: int | None) -> Tensor:
    """At most ``limit`` of n rows, in increasing order; always the same ones."""
    order = torch.randperm(n, generator=torch.Generator().manual_seed(0))
    return order[: n if limit is None else checks.integer("corrupt_limit", limit, at_least=1)].sort().values


def pixels(split: Split, rows: Tensor, maximum: int = 255) -> Tensor:
    """The images of a split at these positions, not augmented, uint8 from 0 to 255 on the CPU.

    ``maximum`` is the largest value of a pixel in the split.
    """
    if isinstance(split, StreamSplit):
        paths = [split.paths[row] for row in rows.tolist()]
        return read_images(paths, (3, split.decoder.size, split.decoder.size), ENLARGE)
    if not isinstance(split, MemorySplit) or split.inputs.dtype != torch.uint8:
        raise TypeError(f"images must be uint8 in memory or files, got {type(split).__name__}")
    images = split.inputs[rows.to(split.inputs.device)].cpu()
    return images if maximum == 255 else (images.float() * (255 / maximum)).round().to(torch.uint8)


def chosen_kinds(value: Any) -> tuple[str, ...]:
    """The kinds of corruption that an option names: ``all``, one, several, or a text with commas.

    >>> chosen_kinds("fog, jpeg")
    ('fog', 'jpeg')
    """
    if not isinstance(value, (str, list, tuple)):
        raise TypeError(f"corrupt must be all, or names of corruptions, got {value!r}")
    names = value.split(",") if isinstance(value, str) else list(value)
    names = [name.strip() if isinstance(name, str) else name for name in names]
    if names == ["all"]:
        return tuple(CORRUPTIONS)
    return tuple(checks.known("corruption", name, CORRUPTIONS) for name in names)


def chosen_severities(value: Any) -> tuple[int, ...]:
    """The severities that an option names: one, several, or a text with commas.

    >>> chosen_severities("1,3"), chosen_severities(5)
    ((1, 3), (5,))
    """
    found = (
        value.split(",") if isinstance(value, str) else value if isinstance(value, (list, tuple)) else [value]
    )
    numbers: list[Any] = [
        int(each) if isinstance(each, str) and each.strip().isdigit() else each for each in found
    ]
    for number in numbers:
        if number not in SEVERITIES or isinstance(number, bool):
            raise ValueError(f"severities must be among {SEVERITIES}, got {value!r}")
    return tuple(numbers)


def gaussian_noise(x: Tensor, severity: int, generator: torch.Generator) -> Tensor:
    """Noise of the sensor, x + σ ε."""
    return x + (0.04, 0.06, 0.09, 0.13, 0.18)[severity - 1] * torch.randn(x.shape, generator=generator)


def shot_noise(x: Tensor, severity: int, generator: torch.Generator) -> Tensor:
    """Poisson(k x) / k: too little light."""
    photons = (250, 120, 60, 30, 15)[severity - 1]
    return torch.poisson(x * photons, generator=generator) / photons


def impulse_noise(x: Tensor, severity: int, generator: torch.Generator) -> Tensor:
    """Black and white pixels."""
    share = (0.01, 0.03, 0.06, 0.1, 0.16)[severity - 1]
    u = torch.rand(x.shape, generator=generator)
    return torch.where(u < share / 2, 0.0, torch.where(u < share, 1.0, x))


def gaussian_blur(x: Tensor, severity: int, _generator: torch.Generator) -> Tensor:
    """Out of focus."""
    width = (0.012, 0.02, 0.03, 0.042, 0.056)[severity - 1] * x.shape[3]
    reach = max(1, math.ceil(3 * width))
    line = torch.exp(-0.5 * (torch.arange(-reach, reach + 1) / width) ** 2)
    return _filtered(_filtered(x, line[None, :]), line[:, None])


def motion_blur(x: Tensor, severity: int, generator: torch.Generator) -> Tensor:
    """Moved along a line of one direction for all images."""
    length = (0.08, 0.12, 0.16, 0.22, 0.28)[severity - 1] * x.shape[3]
    angle = float(torch.rand((), generator=generator)) * math.pi
    reach = math.ceil(length / 2 + 0.5)
    place = torch.arange(-reach, reach + 1.0)
    rows, columns = torch.meshgrid(place, place, indexing="ij")
    along = columns * math.cos(angle) + rows * math.sin(angle)
    across = columns * math.sin(angle) - rows * math.cos(angle)
    return _filtered(x, (1 - across.abs()).clamp(0) * (length / 2 + 0.5 - along.abs()).clamp(0, 1))


def brightness(x: Tensor, severity: int, _generator: torch.Generator) -> Tensor:
    """Brighter by a constant."""
    return x + (0.1, 0.2, 0.3, 0.4, 0.5)[severity - 1]


def darkness(x: Tensor, severity: int, _generator: torch.Generator) -> Tensor:
    """Darker by a factor."""
    return x * (0.8, 0.65, 0.5, 0.38, 0.28)[severity - 1]


def contrast(x: Tensor, severity: int, _generator: torch.Generator) -> Tensor:
    """Nearer to the mean of the image."""
    mean = x.mean((1, 2, 3), keepdim=True)
    return mean + (x - mean) * (0.7, 0.5, 0.35, 0.22, 0.12)[severity - 1]


def fog(x: Tensor, severity: int, generator: torch.Generator) -> Tensor:
    """A smooth grey veil, of its own for each image."""
    depth = (0.25, 0.4, 0.55, 0.7, 0.85)[severity - 1]
    coarse = torch.rand(len(x), 1, 3, 3, generator=generator)
    veil = functional.interpolate(coarse, size=x.shape[2:], mode="bicubic", align_corners=True).clamp(0, 1)
    return x * (1 - depth * veil) + 0.8 * depth * veil


def pixelate(x: Tensor, severity: int, _generator: torch.Generator) -> Tensor:
    """Fewer pixels."""
    share = (0.75, 0.6, 0.48, 0.38, 0.3)[severity - 1]
    height, width = x.shape[2:]
    small = functional.interpolate(
        x, size=(max(1, round(height * share)), max(1, round(width * share))), mode="area"
    )
    return functional.interpolate(small, size=(height, width), mode="nearest")


def jpeg(x: Tensor, severity: int, _generator: torch.Generator) -> Tensor:
    """Compressed, image by image; needs Pillow."""
    from PIL import Image

    quality = (40, 25, 17, 11, 7)[severity - 1]
    pixels = (x * 255).round().to(torch.uint8).movedim(1, 3).numpy()
    found = np.empty_like(pixels)
    for k, image in enumerate(pixels):
        buffer = io.BytesIO()
        grey = image.shape[2] == 1
        Image.fromarray(image[..., 0] if grey else image).save(buffer, "JPEG", quality=quality)
        decoded = np.asarray(Image.open(buffer))
        found[k] = decoded[..., None] if grey else decoded
    return torch.from_numpy(found).movedim(3, 1).float() / 255


CORRUPTIONS: dict[str, Corruption] = {
    "gaussian-noise": gaussian_noise,
    "shot-noise": shot_noise,
    "impulse-noise": impulse_noise,
    "gaussian-blur": gaussian_blur,
    "motion-blur": motion_blur,
    "brightness": brightness,
    "darkness": darkness,
    "contrast": contrast,
    "fog": fog,
    "pixelate": pixelate,
    "jpeg": jpeg,
}


def _filtered(x: Tensor, kernel: Tensor) -> Tensor:
    """Each channel convolved with a kernel of sum 1; the border is repeated."""
    kernel = (kernel / kernel.sum()).float()
    rows, columns = (size // 2 for size in kernel.shape)
    padded = functional.pad(x, (columns, columns, rows, rows), mode="replicate")
    weight = kernel.expand(x.shape[1], 1, *kernel.shape)
    return functional.conv2d(padded, weight, groups=x.shape[1])
