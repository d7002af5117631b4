"""Images decoded as they are needed: from files in one folder a class to batches."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from tailormix.data.augment import ImageTransform, normalisation
from tailormix.data.files.location import DataError
from tailormix.data.splits import DataSplits, train_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from PIL.Image import Image
    from torch import Tensor

    from tailormix.data.splits import BatchPlan

    #: paths, and the class of each
    Files = tuple[tuple[str, ...], Tensor]

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


@final
@dataclass(frozen=True, eq=False)
class StreamSplit:
    """Files and their classes. Every draw of a batch comes from the batch's own generator.

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
        return self._finished(decoded(self.paths, self.decoder, indices, generator), indices)

    def batches(self, plan: BatchPlan, workers: int = 0) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the batches of the plan in order, decoded by ``workers`` processes ahead of time."""
        loader = DataLoader(
            _Decoded(self.paths, self.decoder),
            batch_size=None,  # each key is a whole batch, so one worker makes it
            sampler=plan,
            num_workers=workers,
            pin_memory=self.targets.is_cuda,
            generator=torch.Generator(),  # else the loader draws a seed from the global generator
        )
        for images, indices in loader:
            yield self._finished(images, indices)

    def to(self, device: torch.device | str) -> StreamSplit:
        """Return the split whose batches come on ``device``."""
        moved = self.transform.to(device)
        return replace(self, targets=self.targets.to(device), ids=self.ids.to(device), transform=moved)

    def _finished(self, images: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
        device = self.targets.device
        rows = indices.to(device, non_blocking=True)
        return self.transform(images.to(device, non_blocking=True)), self.targets[rows]


def decoded(
    paths: tuple[str, ...], decoder: Decoder, indices: Tensor, generator: torch.Generator | None
) -> Tensor:
    """Return the images at positions ``indices`` as uint8 on the CPU, (n, 3, size, size)."""
    count = DRAWS if decoder.augment else 0  # evaluation leaves every generator alone
    draws = torch.rand(len(indices), count, dtype=torch.float64, generator=generator).tolist()
    rows = zip(indices.tolist(), draws, strict=True)
    return torch.stack([decoder(paths[index], row) for index, row in rows])


@final
class _Decoded(Dataset[tuple["Tensor", "Tensor"]]):
    """The part of a split that worker processes hold: keys are (indices, seed), items whole batches."""

    def __init__(self, paths: tuple[str, ...], decoder: Decoder) -> None:
        self.paths = paths
        self.decoder = decoder

    def __getitem__(self, key: tuple[Tensor, int]) -> tuple[Tensor, Tensor]:
        indices, seed = key
        return decoded(self.paths, self.decoder, indices, torch.Generator().manual_seed(seed)), indices


IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
SUFFIXES = frozenset({".jpeg", ".jpg", ".png", ".bmp", ".webp", ".ppm"})


def subfolders(folder: Path) -> list[str]:
    """Names of the folders in ``folder``, in lexicographic order; hidden ones are no classes."""
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


def file_split(files: Files, rows: Tensor, first: int, size: int, *, augment: bool) -> StreamSplit:
    """Split of the files at ``rows``, whose ids start at ``first``."""
    paths, labels = files
    transform = ImageTransform(*normalisation(*IMAGENET))
    chosen = tuple(paths[row] for row in rows.tolist())
    return StreamSplit(chosen, labels[rows], rows + first, Decoder(size, augment), transform)


def file_splits(
    name: str,
    train: Files,
    test: Files,
    classes: Sequence[str],
    size: int,
    *,
    seed: int,
    validation: float,
    limit: int | None,
    augment: bool,
) -> DataSplits:
    """Split files with a published test set; validation is cut from the training files."""
    kept, held = train_rows(train[1], seed, validation, limit)
    first = len(train[1])
    return DataSplits(
        name,
        "classification",
        train=file_split(train, kept, 0, size, augment=augment),
        validation=file_split(train, held, 0, size, augment=False),
        test=file_split(test, torch.arange(len(test[1])), first, size, augment=False),
        outputs=len(classes),
        class_names=tuple(classes),
    )
