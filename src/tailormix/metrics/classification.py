"""Accuracy, proper scores and calibration errors of predicted classes.

With z the logits, p = softmax(z), k = argmax z and y the target, each sample gives

    confidence p_k,   correct [k = y],   nll (z_k − z_y) − log p_k,   brier Σ_c p_c² − 2 p_y + 1

The NLL never takes the logarithm of an underflowed probability: p_k ≥ 1/C. Probabilities given as such have
their p_y clamped at the smallest normal number of their type (1.2e-38 in float32).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import torch

from tailormix.checks import readable
from tailormix.metrics.binning import (
    EqualMassBins,
    bin_index,
    bin_sums,
    calibration_error,
    classwise_error,
    debiased_error,
    selective_risk,
    sums_by_index,
)
from tailormix.metrics.inputs import classification_inputs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tailormix.metrics.inputs import Array, ClassificationInputs


TOLERANCE = {"float16": 1e-2, "bfloat16": 3e-2}  # what rounding does to the sum of a row; else 1e-3


def accuracy(
    predictions: Array, targets: Array, *, from_logits: bool = False, binary: str | None = None
) -> float:
    """(1/n) Σ_i [argmax_c p_ic = y_i], the first class where several share the maximum.

    ``predictions`` (n, C) or, with ``binary=``, (n,); ``targets`` (n,) class indices.

    >>> import torch
    >>> accuracy(torch.tensor([[0.2, 0.8], [0.6, 0.4]]), torch.tensor([1, 1]))
    0.5
    """
    inputs = classification_inputs(predictions, targets, from_logits=from_logits, binary=binary)
    return float(sample_statistics(inputs).correct.double().mean())


def nll(predictions: Array, targets: Array, *, from_logits: bool = False, binary: str | None = None) -> float:
    """−(1/n) Σ_i log p_{i,y_i}, natural logarithm; finite for any finite logits.

    From probabilities, p_{i,y_i} is clamped at the smallest normal number of the type (float32: 1.2e-38).

    >>> import torch
    >>> nll(torch.tensor([[0.0, -1000.0]]), torch.tensor([1]), from_logits=True)
    1000.0
    """
    inputs = classification_inputs(predictions, targets, from_logits=from_logits, binary=binary)
    return float(sample_statistics(inputs).nll.double().mean())


def brier(
    predictions: Array, targets: Array, *, from_logits: bool = False, binary: str | None = None
) -> float:
    """(1/n) Σ_i Σ_c (p_ic − [y_i = c])², from 0 to 2; ``binary="positive"`` is (1/n) Σ_i (p_i1 − y_i)².

    >>> import torch
    >>> brier(torch.tensor([[0.5, 0.5]]), torch.tensor([1]))
    0.5
    """
    inputs = classification_inputs(predictions, targets, from_logits=from_logits, binary=binary)
    return float(sample_statistics(inputs).brier.double().mean())


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
    inputs = classification_inputs(predictions, targets, from_logits=from_logits, binary=binary)
    found = sample_statistics(inputs)
    return float(calibration_error(bin_sums(found.confidence, found.outcome, n_bins), norm))


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
    """Σ_b (n_b/n) |acc_b − conf_b| over B bins that hold the same number of samples, up to one.

    Samples with the same confidence share their mean accuracy, so the value does not depend on the order of
    the samples.

    >>> import torch
    >>> round(aece(torch.tensor([[0.1, 0.9], [0.4, 0.6]]), torch.tensor([1, 0]), n_bins=2), 6)
    0.35
    """
    inputs = classification_inputs(predictions, targets, from_logits=from_logits, binary=binary)
    found = sample_statistics(inputs)
    return float(adaptive_error(found.confidence, found.outcome, n_bins))


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
    inputs = classification_inputs(predictions, targets, from_logits=from_logits, binary=binary)
    return float(classwise_error(classwise_sums(inputs, n_bins), norm))


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
    inputs = classification_inputs(predictions, targets, from_logits=from_logits, binary=binary)
    found = sample_statistics(inputs)
    return float(debiased_error(bin_sums(found.confidence, found.outcome, n_bins)))


def gap(predictions: Array, targets: Array, *, from_logits: bool = False, binary: str | None = None) -> float:
    """(1/n) Σ_i (confidence_i − outcome_i): above 0 the model is too sure, below 0 too modest.

    >>> import torch
    >>> round(gap(torch.tensor([[0.2, 0.8], [0.2, 0.8]]), torch.tensor([1, 0])), 6)
    0.3
    """
    inputs = classification_inputs(predictions, targets, from_logits=from_logits, binary=binary)
    return float(sample_statistics(inputs).gap.double().mean())


def aurc(
    predictions: Array, targets: Array, *, from_logits: bool = False, binary: str | None = None
) -> float:
    """(1/n) Σ_i R_i with R_i the error rate of the i samples of largest max_c p_c: area below risk–coverage.

    It tells whether confidence puts right answers before wrong ones; a temperature hardly changes it.
    Samples with the same confidence share their errors.

    >>> import torch
    >>> aurc(torch.tensor([[0.1, 0.9], [0.4, 0.6]]), torch.tensor([1, 0]))
    0.25
    """
    inputs = classification_inputs(predictions, targets, from_logits=from_logits, binary=binary)
    found = sample_statistics(inputs)
    return float(risk_coverage_area(found.certainty, found.correct))


def summary(
    predictions: Array,
    targets: Array,
    *,
    from_logits: bool = False,
    n_bins: int = 15,
    norm: str = "l1",
    binary: str | None = None,
) -> dict[str, float]:
    """Return every classification metric by name; each value is that of the function of that name.

    >>> import torch
    >>> summary(torch.tensor([[0.25, 0.75], [0.5, 0.5]]), torch.tensor([1, 0]))["accuracy"]
    1.0
    """
    inputs = classification_inputs(predictions, targets, from_logits=from_logits, binary=binary)
    return all_metrics(inputs, sample_statistics(inputs), n_bins=n_bins, norm=norm)


@dataclass(frozen=True, eq=False)
class SampleStatistics:
    """Statistics of n predictions, each (n,).

    ``confidence`` is the probability of an event and ``outcome`` whether it happened: that the top label is
    right or, with ``binary="positive"``, that class 1 came. ``correct`` is top-1.
    """

    confidence: torch.Tensor
    outcome: torch.Tensor
    correct: torch.Tensor
    nll: torch.Tensor
    brier: torch.Tensor

    def __len__(self) -> int:
        """Return n."""
        return len(self.confidence)

    @property
    def gap(self) -> torch.Tensor:
        """Confidence − outcome, (n,)."""
        return self.confidence - self.outcome

    @property
    def certainty(self) -> torch.Tensor:
        """The probability of the top label, (n,), which of two classes may be the other one."""
        return torch.where(self.outcome == self.correct, self.confidence, 1 - self.confidence)


def sample_statistics(
    inputs: ClassificationInputs, progress: Callable[[int], object] | None = None
) -> SampleStatistics:
    """Return the statistics of every sample; ``progress`` is told how many rows are done.

    >>> from tailormix.metrics.inputs import classification_inputs
    >>> sample_statistics(classification_inputs(torch.tensor([[0.25, 0.75]]), torch.tensor([1]))).confidence
    tensor([0.7500])
    """
    parts = []
    for start, chunk, targets in inputs.chunks():
        parts.append(_chunk_statistics(inputs, start, chunk, targets))
        if progress is not None:
            progress(start + len(chunk))
    return concatenate(parts)


def concatenate(parts: Sequence[SampleStatistics]) -> SampleStatistics:
    """Return the statistics of all samples, in order."""
    names = [field.name for field in fields(SampleStatistics)]
    return SampleStatistics(*(torch.cat([getattr(part, name) for part in parts]) for name in names))


def all_metrics(
    inputs: ClassificationInputs, statistics: SampleStatistics, *, n_bins: int = 15, norm: str = "l1"
) -> dict[str, float]:
    """Return every classification metric of inputs whose statistics are known."""
    confidence, outcome = statistics.confidence, statistics.outcome
    sums = bin_sums(confidence, outcome, n_bins)
    return {
        "accuracy": float(statistics.correct.double().mean()),
        "nll": float(statistics.nll.double().mean()),
        "brier": float(statistics.brier.double().mean()),
        "ece": float(calibration_error(sums, norm)),
        "aece": float(adaptive_error(confidence, outcome, n_bins)),
        "classwise_ece": float(classwise_error(classwise_sums(inputs, n_bins), norm)),
        "debiased_ece": float(debiased_error(sums)),
        "mce": float(calibration_error(sums, "max")),
        "gap": float(statistics.gap.double().mean()),
        "aurc": float(risk_coverage_area(statistics.certainty, statistics.correct)),
    }


def classwise_sums(inputs: ClassificationInputs, n_bins: int) -> torch.Tensor:
    """Return (C, B, 3) sums of (1, probability, outcome); (1, B, 3) where only class 1 is evaluated."""
    first, classes = (1, 1) if inputs.positive else (0, inputs.num_classes)
    labels = torch.arange(first, first + classes, device=inputs.targets.device)
    sums = torch.zeros(classes * n_bins, 3, dtype=torch.float64, device=inputs.targets.device)
    for start, chunk, targets in inputs.chunks():
        probabilities = _probabilities(inputs, start, chunk)[:, first : first + classes]
        outcome = (targets[:, None] == labels).to(probabilities.dtype)
        index = bin_index(probabilities, n_bins) + n_bins * torch.arange(classes, device=labels.device)
        sums += sums_by_index(index, torch.ones_like(outcome), probabilities, outcome, size=len(sums))
    return sums.view(classes, n_bins, 3)


def adaptive_error(confidence: torch.Tensor, outcome: torch.Tensor, n_bins: int) -> torch.Tensor:
    """Return AECE of (n,) confidences and outcomes.

    >>> adaptive_error(torch.tensor([0.9, 0.6]), torch.tensor([1.0, 0.0]), 1)
    tensor(0.2500, dtype=torch.float64)
    """
    return calibration_error(EqualMassBins(confidence, n_bins).sums(confidence, outcome))


def risk_coverage_area(certainty: torch.Tensor, correct: torch.Tensor) -> torch.Tensor:
    """Return AURC of (n,) certainties and correct answers.

    >>> risk_coverage_area(torch.tensor([0.9, 0.6]), torch.tensor([0.0, 1.0]))
    tensor(0.7500, dtype=torch.float64)
    """
    values, index = torch.unique(certainty, return_inverse=True)
    columns = torch.ones_like(certainty), certainty, correct
    return selective_risk(sums_by_index(index, *columns, size=len(values)))


def _chunk_statistics(
    inputs: ClassificationInputs, start: int, chunk: torch.Tensor, targets: torch.Tensor
) -> SampleStatistics:
    probabilities = _probabilities(inputs, start, chunk)
    label = chunk.argmax(1)
    columns = torch.stack([label, targets], dim=1)
    top, likelihood = probabilities.gather(1, columns).unbind(1)
    if inputs.from_logits:
        best, target = chunk.gather(1, columns).unbind(1)
        nll = best - target - top.log()
    else:
        nll = -likelihood.clamp_min(torch.finfo(likelihood.dtype).tiny).log()
    correct = (label == targets).to(top.dtype)
    if inputs.positive:
        confidence, outcome = probabilities[:, 1], targets.to(top.dtype)
        brier = (confidence - outcome).square()
    else:
        confidence, outcome = top, correct
        brier = probabilities.square().sum(1) - 2 * likelihood + 1
    return SampleStatistics(confidence.clamp(0, 1), outcome, correct, nll.clamp_min(0), brier.clamp_min(0))


def _probabilities(inputs: ClassificationInputs, start: int, chunk: torch.Tensor) -> torch.Tensor:
    """Return the probabilities of a chunk whose first row is ``start``; rows that have none raise."""
    probabilities = chunk.softmax(1) if inputs.from_logits else chunk
    if not readable(probabilities):
        return probabilities
    if inputs.from_logits:
        good = probabilities[:, 0].isfinite()  # NaN in one column of a softmax is NaN in all
        if not bool(good.all()):
            row = start + int(good.logical_not().nonzero()[0])
            raise ValueError(
                f"logits must not hold NaN or +inf, and a row not only -inf; row {row} of predictions does"
            )
        return probabilities
    tolerance = TOLERANCE.get(str(inputs.predictions.dtype).removeprefix("torch."), 1e-3)
    total, low, high = chunk.sum(1), chunk.amin(1), chunk.amax(1)
    good = (total - 1).abs().le(tolerance) & low.ge(0) & high.le(1 + 1e-6)
    if not bool(good.all()):
        row = int(good.logical_not().nonzero()[0])
        raise ValueError(
            "rows of predictions must be probabilities (from 0 to 1, with sum 1); "
            f"row {start + row} lies in [{low[row]:.4g}, {high[row]:.4g}] and has sum "
            f"{total[row]:.4g}; logits need from_logits=True"
        )
    return probabilities
