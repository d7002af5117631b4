"""CRL: confidence is ranked by how often each sample has been classified right so far."""

from __future__ import annotations

from typing import ClassVar, final

import torch
from torch import distributed, nn

from tailormix import checks
from tailormix.losses.targets import check_indices, check_inputs, confidence, cross_entropy


@final
class CRL(nn.Module):
    """L_i = CE_i + w · max(0, -t_i (c_i - c_j) + |k_i - k_j|), j = i + 1 cyclically, t_i = sign(k_i - k_j).

    c is the confidence max_k p_k. k = (count - min) / (max_correct - min), clipped to [0, 1], is a sample's
    correctness so far: ``count`` of the times it was right, ``min`` over the data set, ``max_correct`` = 1 in
    the first two epochs and one more in each that follows. Ties (t = 0) cost nothing. w is ``weight``.

    One call, in this order: check logits, targets and ids; compute the loss from the history *before* this
    batch; then, in training mode only, add this batch's correctness to the history. A call that raises has
    changed nothing. Call it once per step, with the logits of the clean batch (mixed targets have no right or
    wrong: class indices only), and :meth:`end_epoch` after each epoch.

    The history is in buffers, so that ``state_dict`` saves and restores it. When ``torch.distributed`` is
    initialised, counts are summed over the ranks of ``group`` (all by default): every rank holds the same
    history, and DDP's broadcast of buffers erases nothing. Batch sizes may differ between ranks, the
    number of calls may not.

    ``size`` is the number of training samples; ids are their numbers, 0 ≤ id < size.
    Published by Moon et al. 2020.
    Shapes: logits (n, C); targets (n,); ids (n,); result (n,).

    >>> criterion = CRL(size=3)
    >>> criterion(torch.tensor([[0.0, 0.0], [2.0, 0.0]]), torch.tensor([1, 0]), ids=torch.tensor([0, 2]))
    tensor([0.6931, 0.1269])
    >>> criterion.counts
    tensor([0, 0, 1], dtype=torch.int32)
    """

    #: Methods pass ``ids`` to criteria that say so.
    needs_ids: ClassVar[bool] = True
    counts: torch.Tensor
    epochs: torch.Tensor

    def __init__(self, size: int, weight: float = 1.0, group: distributed.ProcessGroup | None = None) -> None:
        super().__init__()
        self.size = checks.integer("size", size, at_least=1)
        self.weight = checks.non_negative("weight", weight)
        self.group = group
        self.register_buffer("counts", torch.zeros(size, dtype=torch.int32))
        self.register_buffer("epochs", torch.zeros((), dtype=torch.int64))

    def forward(self, logits: torch.Tensor, targets: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        """Return the loss of each sample and, in training mode, record which predictions were right."""
        logits, targets, ids = self._checked(logits, targets, ids)
        c, right = confidence(logits, targets)
        k = self._correctness(ids, c.dtype)
        loss = cross_entropy(logits, targets) + self.weight * ranking(c, k)
        if self.training:
            self._count(ids, right)
        return loss

    def end_epoch(self) -> None:
        """Count a finished epoch: ``max_correct`` follows it."""
        self.epochs += 1

    def _checked(
        self, logits: torch.Tensor, targets: torch.Tensor, ids: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        if targets.ndim != 1:
            raise ValueError(
                f"targets must be class indices of shape (n,) for CRL, got {tuple(targets.shape)}: "
                "a mixed target is neither right nor wrong"
            )
        if logits.device != self.counts.device:
            raise ValueError(
                f"logits must be on the criterion's device {self.counts.device}, got {logits.device}"
            )
        logits, targets = check_inputs(logits, targets)
        ids = check_indices("ids", ids, logits.shape[0], below=self.size)
        return logits, targets, ids.to(self.counts.device)

    def _correctness(self, ids: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        least = self.counts.min()
        # All counts level gives 0 / 0: the difference of whole numbers is at least 1 otherwise.
        span = (self.epochs.clamp(min=1) - least).clamp(min=1)
        return ((self.counts[ids] - least).to(dtype) / span).clamp(max=1)

    def _count(self, ids: torch.Tensor, right: torch.Tensor) -> None:
        new = torch.zeros_like(self.counts).index_add(0, ids, right.to(self.counts.dtype))
        if distributed.is_available() and distributed.is_initialized():
            # Dense, not the ids themselves: ranks may hold different numbers of samples.
            distributed.all_reduce(new, group=self.group)
        # A new tensor, not in place: a compiled backward pass may compute k again, from the old counts.
        self.counts = self.counts + new


def ranking(c: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """max(0, -t (c_i - c_j) + |k_i - k_j|), j = i + 1 cyclically, t = sign(k_i - k_j); all of shape (n,).

    >>> ranking(torch.tensor([0.9, 0.5]), torch.tensor([0.0, 1.0]))  # 0.4 the wrong way, and 1 asked for
    tensor([1.4000, 1.4000])
    """
    gap = k - k.roll(-1)
    return (gap.abs() - gap.sign() * (c - c.roll(-1))).relu()
