"""One pass over the predictions: per-sample statistics from which every classification metric follows.

With z the logits, p = softmax(z), k = argmax z and y the target, each row gives

    confidence p_k,   hit [k = y],   nll (z_k − z_y) − log p_k,   brier Σ_c p_c² − 2 p_y + 1

The NLL never takes the logarithm of an underflowed probability: p_k ≥ 1/C. Probabilities given as such have
their p_y clamped at the smallest normal number of their type (1.2e-38 in float32).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from tailormix.kept import readable
from tailormix.metrics.inputs import as_float

if TYPE_CHECKING:
    from tailormix.metrics.classwise import ClasswiseTable
    from tailormix.metrics.inputs import Classified

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
    found = [_Raw(given) for _ in views]
    for start, piece, targets in given.chunks():
        for number, view in enumerate(views):
            logits = view(piece)
            probabilities = logits.softmax(1) if given.from_logits else logits
            found[number].look(logits, probabilities, targets, start)
            if tables:
                tables[number].add(probabilities, targets)
        if progress is not None:
            progress(start + len(piece))
    return [raw.finish() for raw in found]


def join(parts: Sequence[Rows]) -> Rows:
    """Return one record of all rows, in order."""
    names = Rows.__dataclass_fields__
    return Rows(**{name: torch.cat([getattr(part, name) for part in parts]) for name in names})


class _Raw:
    """What needs the columns of each row, in arrays made once; the arithmetic on (n,) follows at the end.

    Small pieces kept from every chunk would instead fragment the memory: gigabytes for a million rows.
    """

    def __init__(self, given: Classified) -> None:
        self.given = given
        n, first = len(given), as_float("predictions", given.predictions[:0])
        self.best = torch.empty(n, dtype=torch.long, device=first.device)
        self.chosen, self.scores = first.new_empty(n, 3), first.new_empty(n, 3)
        self.length = first.new_empty(n)

    def look(
        self, logits: torch.Tensor, probabilities: torch.Tensor, targets: torch.Tensor, start: int
    ) -> None:
        """Take in a chunk whose first row is ``start``."""
        part = slice(start, start + len(targets))
        best = argmax(logits)
        judged = torch.ones_like(best) if self.given.positive else best
        columns = torch.stack([best, targets, judged], dim=1)
        self.best[part] = best
        self.chosen[part] = probabilities.gather(1, columns)
        self.length[part] = torch.linalg.vector_norm(probabilities, dim=1)
        if self.given.from_logits:
            self.scores[part] = logits.gather(1, columns)
        else:
            _check_probabilities(self.given, probabilities, self.chosen[part, 0], start)

    def finish(self) -> Rows:
        """Return the statistics of all rows."""
        top, likelihood, confidence = self.chosen.unbind(1)
        if self.given.from_logits:
            _check_softmax(top)
            nll = self.scores[:, 0] - self.scores[:, 1] - top.log()
        else:
            nll = -likelihood.clamp_min(torch.finfo(likelihood.dtype).tiny).log()
        hit = (self.best == self.given.targets).to(top.dtype)
        event, brier = hit, self.length.square() - 2 * likelihood + 1
        if self.given.positive:
            event = self.given.targets.to(top.dtype)
            brier = (confidence - event).square()
        return Rows(confidence.clamp(0, 1), event, hit, nll.clamp_min(0), brier.clamp_min(0))


def argmax(chunk: torch.Tensor) -> torch.Tensor:
    """Return the first column that holds the row's maximum; numpy does this ten times faster on a CPU."""
    if chunk.device.type != "cpu" or torch.compiler.is_compiling():
        return chunk.argmax(1)
    return torch.from_numpy(np.asarray(chunk.numpy().argmax(1)))


def _check_softmax(top: torch.Tensor) -> None:
    """Raise where the largest probability is no number: NaN or +inf among the logits, or nothing but -inf."""
    if readable(top) and not bool(top.isfinite().all()):
        row = int(top.isfinite().logical_not().nonzero()[0])
        raise ValueError(
            f"logits must not hold NaN or +inf, and a row not only -inf; row {row} of predictions does"
        )


def _check_probabilities(
    given: Classified, chunk: torch.Tensor, confidence: torch.Tensor, start: int
) -> None:
    if not readable(chunk):
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
