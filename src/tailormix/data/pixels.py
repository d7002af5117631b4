"""Pixels: image files that are decoded batch by batch, and batches that are augmented and normalised."""

from __future__ import annotations

import contextlib
import math
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from tailormix import checks
from tailormix.data.files.location import DataError, check_file, unusable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from PIL.Image import Image
    from torch import Tensor

    from tailormix.data.splits import BatchPlan

    #: paths, and the class of each
    Files = tuple[tuple[str, ...], Tensor]
    #: mean and standard deviation of each channel, on the scale 0 to 1
    MeanStd = tuple[Sequence[float], Sequence[float]]

IMAGENET_MEAN_STD = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
SUFFIXES = frozenset({".jpeg", ".jpg", ".png", ".bmp", ".webp", ".ppm"})
#: Pillow's names of images with so many channels
MODES = {1: "L", 3: "RGB", 4: "RGBA"}
#: how much larger than its central crop an image is made: 256 pixels for 224
ENLARGE = 256 / 224

#: attempts at a random crop before the central one is taken
_ATTEMPTS = 10
#: uniform numbers that an augmented image needs: area and shape of each attempt, position (2), flip
DRAWS = 2 * _ATTEMPTS + 3
_AREA = (0.08, 1.0)
_RATIO = (3 / 4, 4 / 3)
#: how far jitter changes brightness and contrast: by factors from 0.6 to 1.4
JITTER = 0.4


@dataclass(frozen=True)
class Augmentation:
    """How training images are changed at random: cut, flipped, and with another brightness and contrast."""

    crop: bool = False
    flip: bool = False
    jitter: bool = False

    @classmethod
    def named(cls, augment: bool | str) -> Augmentation:
        """The one that the option ``augment`` names; ``True`` is ``"crop-flip"``.

        >>> Augmentation.named("flip-jitter")
        Augmentation(crop=False, flip=True, jitter=True)
        >>> Augmentation.named("flipped")
        Traceback (most recent call last):
        ValueError: unknown augment 'flipped'; did you mean 'flip'? Known: crop, flip, jitter
        """
        if isinstance(augment, bool):
            return cls(crop=augment, flip=augment)
        if not isinstance(augment, str):
            raise TypeError(f"augment must be true, false or names like flip-jitter, got {augment!r}")
        known = [field.name for field in fields(cls)]
        names = [checks.known("augment", name.strip(), known) for name in re.split("[-,]", augment)]
        return cls(**dict.fromkeys(names, True))


@dataclass(frozen=True)
class ImageTransform:
    """Random crop after zero padding, flip and jitter, then (x / maximum - mean) / std per channel.

    ``scale`` and ``shift`` (channels, 1, 1) hold the normalisation as x · scale + shift; make them with
    :func:`normalisation`. ``jitter`` changes brightness and contrast of images from 0 to 255, each by a
    factor from 1 - jitter to 1 + jitter. Draws come from a CPU generator and are moved to the images' device
    without waiting for it.
    """

    scale: Tensor
    shift: Tensor
    pad: int = 0
    flip: bool = False
    jitter: float = 0.0

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
        if self.jitter:
            images = relight(images, *light(n, self.jitter, generator).to(device, non_blocking=True))
        return images.to(torch.float32).mul_(self.scale).add_(self.shift)

    def augmented(self, augment: Augmentation, pad: int) -> ImageTransform:
        """Return the transform with an augmentation; ``pad`` is that of its crops."""
        jitter = JITTER if augment.jitter else 0.0
        return replace(self, pad=pad if augment.crop else 0, flip=augment.flip, jitter=jitter)

    def to(self, device: torch.device | str) -> ImageTransform:
        """Return the transform with its constants on ``device``."""
        return ImageTransform(self.scale.to(device), self.shift.to(device), self.pad, self.flip, self.jitter)


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


def light(n: int, jitter: float, generator: torch.Generator | None) -> Tensor:
    """Factors (2, n, 1, 1, 1) of brightness and contrast, uniform between 1 - jitter and 1 + jitter."""
    return 1 + jitter * (2 * torch.rand(2, n, 1, 1, 1, generator=generator) - 1)


def relight(images: Tensor, brightness: Tensor, contrast: Tensor) -> Tensor:
    """Multiply images from 0 to 255 by ``brightness``, then their distance from their mean by ``contrast``.

    >>> relight(torch.tensor([[[[50, 100]]]]), torch.tensor(2.0), torch.tensor(0.5)).tolist()
    [[[[125.0, 175.0]]]]
    """
    lit = (images * brightness).clamp(0, 255)
    mean = lit.mean((1, 2, 3), keepdim=True)
    return (mean + (lit - mean) * contrast).clamp(0, 255)


@final
@dataclass(frozen=True, eq=False)
class StreamSplit:
    """Image files and their classes. Every draw of a batch comes from the generator of that batch.

    So the same plan gives the same bits with any number of workers, and from any point on.
    """

    paths: tuple[str, ...]
    targets: Tensor
    ids: Tensor
    decoder: Decoder
    transform: ImageTransform

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one image."""
        return (3, self.decoder.size, self.decoder.size)

    def __len__(self) -> int:
        return len(self.paths)

    def batch(self, indices: Tensor, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
        """Return (x, y) of the files at positions ``indices``, decoded in this process."""
        return self._finish(_decode_batch(self.paths, self.decoder, indices, generator), indices)

    def batches(self, plan: BatchPlan, workers: int = 0) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the batches of the plan in order, decoded by ``workers`` processes in advance."""
        loader = DataLoader(
            _DecodedBatches(self.paths, self.decoder),
            batch_size=None,  # each key is a whole batch, so one worker makes it
            sampler=plan,
            num_workers=workers,
            pin_memory=self.targets.is_cuda,
            generator=torch.Generator(),  # else the loader draws a seed from the global generator
        )
        for images, indices in loader:
            if isinstance(images, DataError):  # raised here, in one line, not with the worker's traceback
                raise images
            yield self._finish(images, indices)

    def to(self, device: torch.device | str) -> StreamSplit:
        """Return the split whose batches come on ``device``."""
        transform = self.transform.to(device)
        return replace(self, targets=self.targets.to(device), ids=self.ids.to(device), transform=transform)

    def _finish(self, images: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
        device = self.targets.device
        rows = indices.to(device, non_blocking=True)
        return self.transform(images.to(device, non_blocking=True)), self.targets[rows]


def file_split(
    files: Files, rows: Tensor, size: int, augment: Augmentation | None = None, first_id: int = 0
) -> StreamSplit:
    """Split of the files at ``rows``, whose ids count from ``first_id``."""
    paths, labels = files
    decoder = Decoder(size, augment or Augmentation())
    transform = ImageTransform(*normalisation(*IMAGENET_MEAN_STD))
    chosen = tuple(paths[row] for row in rows.tolist())
    return StreamSplit(chosen, labels[rows], rows + first_id, decoder, transform)


def subfolders(folder: Path) -> list[str]:
    """Names of the folders in ``folder``, in lexicographic order, without hidden ones."""
    return sorted(entry.name for entry in folder.iterdir() if entry.is_dir() and entry.name[0] != ".")


def class_files(folder: Path, classes: Sequence[str], labels: Sequence[int] | None = None) -> Files:
    """All images of the class folders in a fixed order; class k has label ``labels[k]``, or k."""
    found = [
        sorted(str(path) for path in (folder / name).iterdir() if path.suffix.lower() in SUFFIXES)
        for name in classes
    ]
    numbers = torch.tensor(range(len(classes)) if labels is None else labels, dtype=torch.int64)
    counts = torch.tensor([len(paths) for paths in found], dtype=torch.int64)
    return tuple(path for paths in found for path in paths), torch.repeat_interleave(numbers, counts)


def image_paths(source: Any) -> list[str] | None:
    """The image files of a path, of a list of paths, or of a folder; None where ``source`` is none of these.

    Of a folder these are its images in the order of their names, else those of its folders, one by one.
    """
    if isinstance(source, (list, tuple)) and source and all(isinstance(each, (str, Path)) for each in source):
        return [str(each) for each in source]
    if not isinstance(source, (str, Path)) or Path(source).suffix in (".npy", ".npz"):
        return None
    folder = Path(source)
    if not folder.is_dir():
        return [str(check_file(folder, "an image or a folder of images"))]
    paths = class_files(folder, ["."])[0] or class_files(folder, subfolders(folder))[0]
    if not paths:
        raise unusable(folder, "images, or folders of images", "none")
    return list(paths)


@dataclass(frozen=True)
class Decoder:
    """Random resized crop (where augmented so), or resize and central crop, to (3, size, size) uint8."""

    size: int
    augment: Augmentation

    @property
    def draws(self) -> int:
        """How many uniform numbers an image needs."""
        return DRAWS if self.augment.crop or self.augment.flip else 0  # evaluation leaves generators alone

    def __call__(self, path: str, draws: Sequence[float]) -> Tensor:
        """Decode, cut and flip the file by its ``draws``."""
        from PIL.Image import Transpose

        image = open_image(path)
        cut = (
            random_crop(image, self.size, draws)
            if self.augment.crop
            else central_crop(image, self.size, self.size, ENLARGE)
        )
        flipped = self.augment.flip and draws[-1] < 0.5
        return _pixels(cut.transpose(Transpose.FLIP_LEFT_RIGHT) if flipped else cut)


def open_image(path: str, mode: str = "RGB") -> Image:
    """Decode a file as RGB, or in another mode of Pillow; grey images get three equal channels."""
    with _opened(path) as image:
        return image.convert(mode)


def check_images(paths: Sequence[str]) -> None:
    """Read the first bytes of every file: what is no image is found before any training."""

    def check(path: str) -> None:
        with _opened(path):
            pass

    with ThreadPoolExecutor() as pool:
        list(pool.map(check, paths))


@contextlib.contextmanager
def _opened(path: str) -> Iterator[Image]:
    """An image file with at most 8 bits per channel; whatever is wrong with it is one line."""
    import PIL.Image

    try:
        with PIL.Image.open(path) as image:
            if image.mode[0] in "IF":
                raise DataError(
                    f"wrong file {path}: expected 8 bits per channel, got an image of mode {image.mode}"
                )
            yield image
    except DataError:
        raise
    except (
        Exception
    ) as error:  # whatever Pillow raises for a broken file: it has no class of its own for that
        raise DataError(f"wrong file {path}: expected an image, got: {error}") from error


def read_images(
    paths: Sequence[str], shape: tuple[int, int, int], enlarge: float = 1.0, *, exact: bool = False
) -> Tensor:
    """Decode many images into one uint8 tensor (n, *shape); see :func:`central_crop`.

    With ``exact`` images of another size are an error.
    """
    channels, height, width = shape
    if channels not in MODES:
        raise DataError(f"cannot use {paths[0]}: images of {channels} channels are read from arrays only")
    out = torch.empty(len(paths), *shape, dtype=torch.uint8)

    def fill(k: int) -> None:
        image = open_image(paths[k], MODES[channels])
        if exact and image.size != (width, height):
            got = f"{image.height} x {image.width}"
            raise DataError(f"wrong file {paths[k]}: expected {height} x {width} pixels, got {got}")
        out[k] = _pixels(central_crop(image, height, width, enlarge))

    with ThreadPoolExecutor() as pool:  # Pillow decodes outside the interpreter's lock
        list(pool.map(fill, range(len(paths))))
    return out


def central_crop(image: Image, height: int, width: int, enlarge: float) -> Image:
    """Resize to cover ``enlarge`` times ``height`` x ``width``, then cut these out of the centre."""
    from PIL.Image import Resampling

    factor = max(round(height * enlarge) / image.height, round(width * enlarge) / image.width)
    covers = max(width, int(image.width * factor)), max(height, int(image.height * factor))
    left, top = round((covers[0] - width) / 2), round((covers[1] - height) / 2)
    return image.resize(covers, Resampling.BILINEAR).crop((left, top, left + width, top + height))


def random_crop(image: Image, size: int, draws: Sequence[float]) -> Image:
    """Cut 8 % to 100 % of the area at a shape of 3:4 to 4:3, and resize to a square."""
    from PIL.Image import Resampling

    width, height, left, top = crop_box(image.width, image.height, draws)
    return image.crop((left, top, left + width, top + height)).resize((size, size), Resampling.BILINEAR)


def crop_box(image_width: int, image_height: int, draws: Sequence[float]) -> tuple[int, int, int, int]:
    """Return (width, height, left, top) of the first attempt that fits, else of the largest central crop."""
    low, high = math.log(_RATIO[0]), math.log(_RATIO[1])
    for k in range(_ATTEMPTS):
        area = image_width * image_height * (_AREA[0] + (_AREA[1] - _AREA[0]) * draws[2 * k])
        ratio = math.exp(low + (high - low) * draws[2 * k + 1])
        width, height = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < width <= image_width and 0 < height <= image_height:
            left = int(draws[-3] * (image_width - width + 1))
            top = int(draws[-2] * (image_height - height + 1))
            return width, height, left, top
    width = min(image_width, round(image_height * _RATIO[1]))
    height = min(image_height, round(image_width / _RATIO[0]))
    return width, height, (image_width - width) // 2, (image_height - height) // 2


def _decode_batch(
    paths: tuple[str, ...], decoder: Decoder, indices: Tensor, generator: torch.Generator | None
) -> Tensor:
    """Return the images at positions ``indices`` as uint8 on the CPU, (n, 3, size, size)."""
    n = len(indices)
    draws = torch.rand(n, decoder.draws, dtype=torch.float64, generator=generator).tolist()
    rows = zip(indices.tolist(), draws, strict=True)
    images = torch.stack([decoder(paths[index], row) for index, row in rows])
    if decoder.augment.jitter:
        images = relight(images, *light(n, JITTER, generator)).round().to(torch.uint8)
    return images


def _pixels(image: Image) -> Tensor:
    pixels = torch.from_numpy(np.array(image, dtype=np.uint8)).reshape(image.height, image.width, -1)
    return pixels.permute(2, 0, 1).contiguous()


@final
class _DecodedBatches(Dataset[tuple["Tensor | DataError", "Tensor"]]):
    """What worker processes hold of a split: keys are (indices, seed), items whole batches."""

    def __init__(self, paths: tuple[str, ...], decoder: Decoder) -> None:
        self.paths = paths
        self.decoder = decoder

    def __getitem__(self, key: tuple[Tensor, int]) -> tuple[Tensor | DataError, Tensor]:
        indices, seed = key
        generator = torch.Generator().manual_seed(seed)
        try:
            return _decode_batch(self.paths, self.decoder, indices, generator), indices
        except DataError as error:
            return error, indices
