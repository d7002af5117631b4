"""The embedding bank: embeddings of the whole training set, refreshed every few epochs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import torch

from tailormix import checks
from tailormix.embeddings import embed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from torch import Tensor, nn
    from torch.distributed import ProcessGroup


LARGEST = 3e4  # what half precision holds easily


@final
class EmbeddingBank:
    """h(x_i) of all n training samples, measured by one pass without gradient every few epochs.

    A step then looks its embeddings up instead of passing the batch through the model once more, and SK Mixup
    costs as much as Mixup. Distances are those of the last refresh. Without a bank they are exact.
    Rows lie in half precision; very large ones are divided by a common factor, which rescaled distances do
    not see.

    Args:
        n: the number of training samples.
        every: epochs between refreshes; the first is before the first epoch.
        layer: the layer whose input is the embedding, as in :func:`tailormix.embed`.
        file: keeps the embeddings on disk, memory-mapped, instead of in memory.

    >>> bank = EmbeddingBank(n=4, every=10)
    >>> model, x = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Linear(5, 2)), torch.rand(4, 3)
    >>> bank.due(epoch=0), bank.due(epoch=1)
    (True, False)
    >>> bank.refresh(model, [(torch.tensor([0, 1]), x[:2]), (torch.tensor([2, 3]), x[2:])])
    >>> bank[torch.tensor([3, 0])].shape
    torch.Size([2, 5])

    """

    def __init__(
        self, n: int, every: int = 10, *, layer: str | None = None, file: str | Path | None = None
    ) -> None:
        self.n = checks.integer("n", n, at_least=1)
        self.every = checks.integer("every", every, at_least=1)
        self.layer = layer
        self.file = None if file is None else Path(file)
        self._rows: Tensor | None = None

    def due(self, epoch: int) -> bool:
        """Whether the bank is to be refreshed before this epoch, counted from 0."""
        return checks.integer("epoch", epoch, at_least=0) % self.every == 0

    @torch.no_grad()
    def refresh(
        self,
        model: nn.Module,
        batches: Iterable[tuple[Tensor, Tensor]],
        *,
        group: ProcessGroup | None = None,
    ) -> None:
        """Measure the embeddings anew; ``batches`` are pairs of ids (b,) and inputs (b, ...).

        Together they must hold every id. With ``group`` each rank passes its share, and all get everything.
        """
        parts = [(self._checked(ids).to(x.device), embed(model, x, self.layer).float()) for ids, x in batches]
        if not parts:
            raise ValueError("batches must hold every id, got no batch")
        ids, embeddings = (torch.cat(each) for each in zip(*parts, strict=True))
        if group is not None:
            ids, embeddings = _from_all_ranks(ids, group), _from_all_ranks(embeddings, group)
        ids, embeddings = ids.cpu(), embeddings.cpu()
        missing = (torch.bincount(ids, minlength=self.n) == 0).nonzero()
        if len(missing):
            raise ValueError(
                f"batches must hold every id from 0 to {self.n - 1}, but {int(missing[0])} is missing"
            )
        if not embeddings.isfinite().all():
            row = int(ids[(~embeddings.isfinite()).nonzero()[0, 0]])
            raise ValueError(f"embeddings must be finite, got NaN or infinity for id {row}")
        rows = self._room(embeddings.shape[1])
        rows[ids] = (embeddings / max(1.0, float(embeddings.abs().max()) / LARGEST)).half()
        self._rows = rows

    def __getitem__(self, ids: Tensor) -> Tensor:
        """The embeddings (b, d) of the samples ``ids`` (b,), in float32 on the device of the ids."""
        if self._rows is None:
            raise RuntimeError("the embedding bank is empty: call refresh before the first step")
        return self._rows[self._checked(ids)].to(ids.device, torch.float32)

    def state_dict(self) -> dict[str, Tensor]:
        """The embeddings (n, d) for a checkpoint; empty before the first refresh."""
        return {} if self._rows is None else {"embeddings": self._rows}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Return to a saved state."""
        if not state:
            self._rows = None
            return
        rows = state["embeddings"]
        if rows.shape[:1] != (self.n,):
            raise ValueError(f"the saved bank must hold {self.n} samples, got shape {tuple(rows.shape)}")
        self._rows = self._room(rows.shape[1]).copy_(rows)

    def _checked(self, ids: Tensor) -> Tensor:
        if ids.dim() != 1 or ids.is_floating_point() or ids.dtype == torch.bool:
            raise ValueError(
                f"ids must be whole numbers of shape (b,), got {ids.dtype} of {tuple(ids.shape)}"
            )
        ids = ids.long().cpu()
        if len(ids) and (int(ids.min()) < 0 or int(ids.max()) >= self.n):
            raise ValueError(f"ids must lie in 0..{self.n - 1}, got {int(ids.min())}..{int(ids.max())}")
        return ids

    def _room(self, width: int) -> Tensor:
        """An empty (n, width) in half precision, in memory or in the file."""
        if self.file is None:
            return torch.empty(self.n, width, dtype=torch.float16)
        size = self.n * width
        return torch.from_file(str(self.file), shared=True, size=size, dtype=torch.float16).view(
            self.n, width
        )


def _from_all_ranks(mine: Tensor, group: ProcessGroup) -> Tensor:
    """The rows of every rank, which may hold different numbers of them, one after the other."""
    ranks = torch.distributed.get_world_size(group)
    length = torch.tensor([len(mine)], device=mine.device)
    lengths = [torch.zeros_like(length) for _ in range(ranks)]
    torch.distributed.all_gather(lengths, length, group)
    padded = mine.new_zeros(int(max(lengths)), *mine.shape[1:])
    padded[: len(mine)] = mine
    shares = [torch.empty_like(padded) for _ in range(ranks)]
    torch.distributed.all_gather(shares, padded, group)
    return torch.cat([share[: int(length)] for share, length in zip(shares, lengths, strict=True)])
