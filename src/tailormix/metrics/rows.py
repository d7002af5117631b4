"""One pass over the predictions: per-sample statistics from which every classification metric follows.

With z the logits, p = softmax(z), k = argmax z and y the target, each row gives

    confidence p_k,   hit [k = y],   nll (z_k − z_y) − log p_k,   brier Σ_c p_c² − 2 p_y + 1

The NLL never takes the logarithm of an underflowed probability: p_k ≥ 1/C. Probabilities given as such have
their p_y clamped at the smallest normal number of their type (1.2e-38 in float32).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from tailormix import checks

if TYPE_CHECKING:
    from tailormix.metrics.classwise import ClasswiseTable
    from tailormix.metrics.inputs import Classified

Raw = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]
View = Callable[[torch.Tensor], torch.Tensor]
TOLERANCE = {"float16": 1e-2, "bfloat16": 3e-2}  # what rounding does to the sum of a row; else 1e-3


@dataclass(frozen=True, eq=False)
class Rows:
    """Statistics of n predictions, each (n,): ``confidence`` is judged by ``event``, ``hit`` is top-1."""

    confidence: torch.Tensor
    event: torch.Tensor
    hit: torch.Tensor
    nll: torch.Tensor
    brier: torch.Tensor

    def __len__(self) -> int:
        """Return n."""
        return len(self.confidence)


def identity(logits: torch.Tensor) -> torch.Tensor:
    """Return the logits as they are."""
    return logits


def rows(given: Classified) -> Rows:
    """Return the statistics of every row, reading the predictions once.

    >>> from tailormix.metrics.inputs import classified
    >>> rows(classified(torch.tensor([[0.25, 0.75]]), torch.tensor([1]))).confidence
    tensor([0.7500])
    """
    return read(given)[0]


def read(
    given: Classified,
    views: Sequence[View] = (identity,),
    tables: Sequence[ClasswiseTable] = (),
    progress: Callable[[int], object] | None = None,
) -> list[Rows]:
    """Return the statistics under each view (say, each temperature) of the logits, all from one read.

    ``tables``, one a view, collect the class-wise sums on the way; ``progress`` is told how many rows are
    done.
    """
    found: list[list[Raw]] = [[] for _ in views]
    for start, piece, targets in given.chunks():
        for number, view in enumerate(views):
            logits = view(piece)
            probabilities = logits.softmax(1) if given.from_logits else logits
            found[number].append(_look(given, logits, probabilities, targets, start))
            if tables:
                tables[number].add(probabilities, targets)
        if progress is not None:
            progress(start + len(piece))
    return [_finish(given, parts) for parts in found]


def join(parts: Sequence[Rows]) -> Rows:
    """Return one record of all rows, in order."""
    names = Rows.__dataclass_fields__
    return Rows(**{name: torch.cat([getattr(part, name) for part in parts]) for name in names})


def _look(
    given: Classified, logits: torch.Tensor, probabilities: torch.Tensor, targets: torch.Tensor, start: int
) -> Raw:
    """Take from a chunk only what needs its columns; the arithmetic on (n,) follows once, at the end."""
    best = argmax(logits)
    columns = torch.stack([best, targets], dim=1)
    chosen = probabilities.gather(1, columns)
    _check(given, probabilities, chosen[:, 0], start)
    length = torch.linalg.vector_norm(probabilities, dim=1)
    return best, chosen, logits.gather(1, columns) if given.from_logits else chosen, length


def _finish(given: Classified, parts: Sequence[Raw]) -> Rows:
    best, chosen, scores, length = (torch.cat(column) for column in zip(*parts, strict=True))
    confidence, likelihood = chosen.unbind(1)
    if given.from_logits:
        nll = scores[:, 0] - scores[:, 1] - confidence.log()
    else:
        nll = -likelihood.clamp_min(torch.finfo(likelihood.dtype).tiny).log()
    hit = (best == given.targets).to(confidence.dtype)
    event, brier = hit, length.square() - 2 * likelihood + 1
    if given.positive:  # p_1 is the confidence where class 1 is the best, else 1 − p_0
        event = given.targets.to(confidence.dtype)
        confidence = torch.where(best == 1, confidence, 1 - confidence)
        brier = (confidence - event).square()
    return Rows(confidence.clamp(0, 1), event, hit, nll.clamp_min(0), brier.clamp_min(0))


def argmax(chunk: torch.Tensor) -> torch.Tensor:
    """Return the first column that holds the row's maximum; numpy does this ten times faster on a CPU."""
    if chunk.device.type != "cpu" or torch.compiler.is_compiling():
        return chunk.argmax(1)
    return torch.from_numpy(np.asarray(chunk.numpy().argmax(1)))


def _check(given: Classified, probabilities: torch.Tensor, confidence: torch.Tensor, start: int) -> None:
    if not checks.readable(probabilities):
        return
    if not given.from_logits:
        _check_probabilities(given, probabilities, confidence, start)
    elif not math.isfinite(float(confidence.sum())):
        row = start + int(confidence.isfinite().logical_not().nonzero()[0])
        raise ValueError(
            f"logits must not hold NaN or +inf, and a row not only -inf; row {row} of predictions does"
        )


def _check_probabilities(
    given: Classified, chunk: torch.Tensor, confidence: torch.Tensor, start: int
) -> None:
    if not checks.readable(chunk):
        return
    tolerance = TOLERANCE.get(str(given.predictions.dtype).removeprefix("torch."), 1e-3)
    total = chunk.sum(1)
    good = (total - 1).abs().le(tolerance) & chunk.amin(1).ge(0) & confidence.le(1 + 1e-6)
    if not bool(good.all()):
        row = int(good.logical_not().nonzero()[0])
        raise ValueError(
            "rows of predictions must be probabilities (from 0 to 1, with sum 1); "
            f"row {start + row} lies in [{chunk[row].min():.4g}, {chunk[row].max():.4g}] and has sum "
            f"{total[row]:.4g}; logits need from_logits=True"
        )
