"""Accuracy, proper scores and calibration errors of predicted classes.

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

from tailormix import checks
from tailormix.checks import readable
from tailormix.metrics.binning import ClasswiseTable, bin_sums, calibration_error, debiased_error
from tailormix.metrics.inputs import as_float, classified

if TYPE_CHECKING:
    from tailormix.metrics.inputs import Array, Classified


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


def accuracy(
    predictions: Array, targets: Array, *, from_logits: bool = False, binary: str | None = None
) -> float:
    """(1/n) Σ_i [argmax_c p_ic = y_i], the first class where several share the maximum.

    ``predictions`` (n, C) or, with ``binary=``, (n,); ``targets`` (n,) class indices.

    >>> import torch
    >>> accuracy(torch.tensor([[0.2, 0.8], [0.6, 0.4]]), torch.tensor([1, 1]))
    0.5
    """
    return float(
        rows(classified(predictions, targets, from_logits=from_logits, binary=binary)).hit.double().mean()
    )


def nll(predictions: Array, targets: Array, *, from_logits: bool = False, binary: str | None = None) -> float:
    """−(1/n) Σ_i log p_{i,y_i}, natural logarithm; finite for any finite logits.

    From probabilities, p_{i,y_i} is clamped at the smallest normal number of the type (float32: 1.2e-38).

    >>> import torch
    >>> nll(torch.tensor([[0.0, -1000.0]]), torch.tensor([1]), from_logits=True)
    1000.0
    """
    return float(
        rows(classified(predictions, targets, from_logits=from_logits, binary=binary)).nll.double().mean()
    )


def brier(
    predictions: Array, targets: Array, *, from_logits: bool = False, binary: str | None = None
) -> float:
    """(1/n) Σ_i Σ_c (p_ic − [y_i = c])², from 0 to 2; ``binary="positive"`` is (1/n) Σ_i (p_i1 − y_i)².

    >>> import torch
    >>> brier(torch.tensor([[0.5, 0.5]]), torch.tensor([1]))
    0.5
    """
    return float(
        rows(classified(predictions, targets, from_logits=from_logits, binary=binary)).brier.double().mean()
    )


def ece(
    predictions: Array,
    targets: Array,
    *,
    from_logits: bool = False,
    n_bins: int = 15,
    norm: str = "l1",
    binary: str | None = None,
) -> float:
    """Σ_b (n_b/n) |acc_b − conf_b| over B equal-width bins of the confidence, the last closed at 1.0.

    ``norm="l2"`` is √Σ_b (n_b/n) (acc_b − conf_b)², ``"max"`` the largest gap. Empty bins contribute 0.
    ``predictions`` (n, C), or (n,) with ``binary="positive"`` (probability of class 1) or ``"top-label"``.

    >>> import torch
    >>> round(ece(torch.tensor([[0.2, 0.8], [0.2, 0.8]]), torch.tensor([1, 0])), 6)
    0.3
    """
    found = rows(classified(predictions, targets, from_logits=from_logits, binary=binary))
    return float(calibration_error(bin_sums(found.confidence, found.event, n_bins), norm))


def mce(
    predictions: Array,
    targets: Array,
    *,
    from_logits: bool = False,
    n_bins: int = 15,
    binary: str | None = None,
) -> float:
    """max_b |acc_b − conf_b| over the bins that hold a sample: ``ece`` with ``norm="max"``.

    >>> import torch
    >>> round(mce(torch.tensor([[0.1, 0.9], [0.4, 0.6]]), torch.tensor([1, 0])), 6)
    0.6
    """
    return ece(predictions, targets, from_logits=from_logits, n_bins=n_bins, norm="max", binary=binary)


def aece(
    predictions: Array,
    targets: Array,
    *,
    from_logits: bool = False,
    n_bins: int = 15,
    binary: str | None = None,
) -> float:
    """Σ_b (n_b/n) |acc_b − conf_b|: samples sorted by confidence, cut into B runs of equal length.

    The first n mod B runs get one sample more; with n < B some are empty. Samples with the same confidence
    share their mean accuracy, so the value does not depend on the order of the samples.

    >>> import torch
    >>> round(aece(torch.tensor([[0.1, 0.9], [0.4, 0.6]]), torch.tensor([1, 0]), n_bins=2), 6)
    0.35
    """
    found = rows(classified(predictions, targets, from_logits=from_logits, binary=binary))
    return float(adaptive_error(found.confidence, found.event, n_bins))


def adaptive_error(confidence: torch.Tensor, event: torch.Tensor, n_bins: int) -> torch.Tensor:
    """Return AECE of (n,) confidences and events.

    >>> adaptive_error(torch.tensor([0.9, 0.6]), torch.tensor([1.0, 0.0]), 1)
    tensor(0.2500, dtype=torch.float64)
    """
    levels, group = torch.unique(confidence.double(), return_inverse=True)
    count = levels.new_zeros(len(levels)).index_add_(0, group, torch.ones_like(levels[group]))
    events = torch.zeros_like(count).index_add_(0, group, event.double())
    return equal_mass_error(levels, count[None], events[None], n_bins)[0]


def equal_mass_error(
    levels: torch.Tensor, count: torch.Tensor, events: torch.Tensor, n_bins: int
) -> torch.Tensor:
    """Return (r,) errors of r weightings of the same sorted confidence ``levels`` (m,).

    ``count`` (r, m) says how many samples sit at each level and ``events`` (r, m) how many of them came
    true. A run that ends inside a level takes its part of both, which is what sharing the mean accuracy of
    ties means.
    """
    checks.integer("n_bins", n_bins, at_least=1)
    gap = events - count * levels
    mass, signed = count.cumsum(1), gap.cumsum(1)
    cuts = _cuts(mass[:, -1:], n_bins)
    level = torch.searchsorted(mass, cuts).clamp_max(len(levels) - 1)
    inside = (cuts - (mass - count).gather(1, level)) / count.gather(1, level).clamp_min(1e-12)
    reached = (signed - gap).gather(1, level) + inside.clamp(0, 1) * gap.gather(1, level)
    runs = torch.diff(reached, prepend=torch.zeros_like(reached[:, :1]), dim=1)
    return runs.abs().sum(1) / mass[:, -1]


def _cuts(total: torch.Tensor, n_bins: int) -> torch.Tensor:
    """Where each run ends, in samples: n = 17, B = 5 gives 4, 8, 11, 14, 17."""
    number = torch.arange(1, n_bins + 1, dtype=total.dtype, device=total.device)
    short = torch.floor(total / n_bins)
    return number * short + torch.minimum(number, total - n_bins * short)


def classwise_ece(
    predictions: Array,
    targets: Array,
    *,
    from_logits: bool = False,
    n_bins: int = 15,
    norm: str = "l1",
    binary: str | None = None,
) -> float:
    """(1/C) Σ_c Σ_b (n_bc/n) |freq_bc − prob_bc|: the bins of class c hold its probability in every row.

    With ``binary="positive"`` only class 1 counts. Classes that never occur count like any other.

    >>> import torch
    >>> round(classwise_ece(torch.tensor([[0.1, 0.9], [0.1, 0.9]]), torch.tensor([1, 1])), 6)
    0.1
    """
    given = classified(predictions, targets, from_logits=from_logits, binary=binary)
    return float(classwise_error(classwise_sums(given, n_bins), norm))


def classwise_sums(given: Classified, n_bins: int) -> torch.Tensor:
    """Return (C, B, 3) sums of (1, probability, event); (1, B, 3) where only the positive class is judged."""
    table = ClasswiseTable(given.num_classes, n_bins)
    read(given, tables=[table])
    return table.sums()[1:] if given.positive else table.sums()


def classwise_error(sums: torch.Tensor, norm: str = "l1") -> torch.Tensor:
    """Return the mean over classes of each one's calibration error: (..., C, B, 3) → (...)."""
    return calibration_error(sums, norm).mean(-1)


def debiased_ece(
    predictions: Array,
    targets: Array,
    *,
    from_logits: bool = False,
    n_bins: int = 15,
    binary: str | None = None,
) -> float:
    """√max(0, Σ_b (n_b/n) [(acc_b − conf_b)² − acc_b (1 − acc_b)/(n_b − 1)]), an l2 error.

    The plain ``ece`` of a calibrated model is positive, since every bin's accuracy is noisy. Here that
    noise is estimated and subtracted. Bins of one sample keep their gap.

    >>> import torch
    >>> debiased_ece(torch.tensor([[0.5, 0.5]]).repeat(4, 1), torch.tensor([0, 1, 0, 1]))
    0.0
    """
    found = rows(classified(predictions, targets, from_logits=from_logits, binary=binary))
    return float(debiased_error(bin_sums(found.confidence, found.event, n_bins)))
