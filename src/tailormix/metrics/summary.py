"""All metrics of a set of predictions at once; for a classifier from a single pass over its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailormix.metrics.binning import ClasswiseTable, bin_sums, calibration_error, debiased_error
from tailormix.metrics.classification import adaptive_error, classwise_error, read
from tailormix.metrics.inputs import classified
from tailormix.metrics.registry import metric_function, names_of

if TYPE_CHECKING:
    import torch

    from tailormix.metrics.classification import Rows
    from tailormix.metrics.inputs import Array


def summary(
    predictions: Array,
    targets: Array,
    *,
    from_logits: bool = False,
    n_bins: int = 15,
    norm: str = "l1",
    binary: str | None = None,
) -> dict[str, float]:
    """Return every classification metric by name, reading the predictions once in chunks that fit the cache.

    Each value is the one that the function of that name returns.

    >>> import torch
    >>> summary(torch.tensor([[0.25, 0.75], [0.5, 0.5]]), torch.tensor([1, 0]))["accuracy"]
    1.0
    """
    given = classified(predictions, targets, from_logits=from_logits, binary=binary)
    table = ClasswiseTable(given.num_classes, n_bins)
    sums = table.sums if not given.positive else lambda: table.sums()[1:]
    found = read(given, tables=[table])[0]
    return from_rows(found, sums(), n_bins=n_bins, norm=norm)


def from_rows(rows: Rows, classwise: torch.Tensor, *, n_bins: int = 15, norm: str = "l1") -> dict[str, float]:
    """Return every classification metric of collected rows and class-wise sums (C, B, 3)."""
    sums = bin_sums(rows.confidence, rows.event, n_bins)
    return {
        "accuracy": float(rows.hit.double().mean()),
        "nll": float(rows.nll.double().mean()),
        "brier": float(rows.brier.double().mean()),
        "ece": float(calibration_error(sums, norm)),
        "aece": float(adaptive_error(rows.confidence, rows.event, n_bins)),
        "classwise_ece": float(classwise_error(classwise, norm)),
        "debiased_ece": float(debiased_error(sums)),
        "mce": float(calibration_error(sums, "max")),
    }


def regression_summary(mean: Array, std: Array, targets: Array, *, n_bins: int = 15) -> dict[str, float]:
    """Return every regression metric by name.

    >>> import torch
    >>> regression_summary(torch.zeros(2), torch.ones(2), torch.ones(2))["rmse"]
    1.0
    """
    found = {name: metric_function(name)(mean, targets) for name in ("rmse", "mae", "mape")}
    found |= {name: metric_function(name)(mean, std, targets) for name in ("gaussian_nll", "coverage")}
    binned = ("uce", "ence", "uce_as_published", "ence_as_published")
    found |= {name: metric_function(name)(mean, std, targets, n_bins=n_bins) for name in binned}
    return {name: found[name] for name in names_of("regression")}
