"""Isotonic calibration: a monotone map of each class's probability, then rows are normalised to sum to 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
import torch
from scipy.optimize import isotonic_regression

from tailormix.calibration.calibrator import LogitCalibrator

if TYPE_CHECKING:
    import numpy.typing as npt

    from tailormix.metrics.inputs import ClassificationInputs


@dataclass(frozen=True, eq=False)
class IsotonicFit:
    """The knots of all classes one after the other: class c has ``knots[starts[c] : starts[c + 1]]``."""

    knots: npt.NDArray[np.float64]
    values: npt.NDArray[np.float64]
    starts: npt.NDArray[np.int64]


@final
class IsotonicCalibration(LogitCalibrator[IsotonicFit]):
    """p_c → g_c(p_c) / Σ_k g_k(p_k), g_c the monotone least-squares fit of [y = c] to p_c.

    Between knots g is linear, beyond them constant. ``transform`` gives probabilities; a row where every g
    is 0 becomes uniform. The order of the classes in a row, and so the accuracy, may change.

    >>> logits = torch.tensor([[2.0, 0.0], [0.0, 2.0]]).repeat(4, 1)
    >>> IsotonicCalibration().fit(logits, torch.tensor([0, 1, 0, 1, 0, 1, 1, 1])).transform(logits[:1])
    tensor([[0.7500, 0.2500]])
    """

    kind = "isotonic"
    gives = "probabilities"
    record = IsotonicFit

    def _fit(self, inputs: ClassificationInputs) -> IsotonicFit:
        probabilities = np.concatenate([chunk.double().softmax(1).numpy() for _, chunk, _ in inputs.chunks()])
        targets = inputs.targets.numpy()
        maps = [monotone_fit(column, targets == label) for label, column in enumerate(probabilities.T)]
        starts = np.cumsum([0, *(len(knots) for knots, _ in maps)]).astype(np.int64)
        return IsotonicFit(np.concatenate([m[0] for m in maps]), np.concatenate([m[1] for m in maps]), starts)

    def _apply(self, fitted: IsotonicFit, logits: torch.Tensor) -> torch.Tensor:
        columns = logits.detach().double().softmax(1).cpu().numpy().T
        new = np.empty_like(columns)
        for label, column in enumerate(columns):
            part = slice(fitted.starts[label], fitted.starts[label + 1])
            new[label] = np.interp(column, fitted.knots[part], fitted.values[part])
        total = new.sum(0)
        rows = np.where(total > 0, new / np.where(total > 0, total, 1), 1 / len(new)).T
        return torch.from_numpy(np.ascontiguousarray(rows)).to(logits)


def monotone_fit(x: Any, happened: Any) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return knots and values of the monotone least-squares fit; equal x are averaged first.

    >>> monotone_fit(np.array([0.1, 0.2, 0.9]), np.array([1, 0, 1]))
    (array([0.1, 0.2, 0.9]), array([0.5, 0.5, 1. ]))
    """
    knots, group, count = np.unique(x, return_inverse=True, return_counts=True)
    mean = np.bincount(group, weights=np.asarray(happened, dtype=np.float64)) / count
    values = isotonic_regression(mean, weights=count).x
    flat = np.diff(values) == 0
    keep = ~(np.append(flat, False) & np.append(False, flat))  # of a flat stretch only the ends are needed
    return knots[keep].astype(np.float64), np.asarray(values[keep], dtype=np.float64)
