"""Splits too large for memory: images are decoded when asked for, by workers where there are some."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import torch
from torch.utils.data import DataLoader, Dataset

from .decode import DRAWS, Decoder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from .augment import ImageTransform
    from .record import BatchPlan


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
