"""The rows that are held out for early stopping and calibration: seeded and stratified."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

MINIMUM = 2  # rows of validation without which nothing can be fitted on it


def held_out(
    y: npt.NDArray[Any], fraction: float, random: np.random.RandomState, *, classes: int | None
) -> npt.NDArray[np.bool_]:
    """Mask (n,) of about ``fraction`` · n rows: every (1/fraction)-th in the order of the targets.

    Classes, or quantiles of a real target, so keep their shares to within one row. The only row of a class
    is never held out. Where rows are few, the share grows until each of the other classes has room for a row
    (2 rows for real targets), but never beyond half of the rows: each row held out leaves one like it to
    train on. ``classes`` is the number of classes, ``None`` for real targets (n, outputs).

    >>> y = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    >>> y[held_out(y, 0.5, np.random.RandomState(0), classes=2)]
    array([0, 0, 1, 1])
    >>> y[held_out(y, 0.1, np.random.RandomState(0), classes=2)]
    array([0, 1])
    """
    codes = y if classes is not None else y[:, 0]
    order = np.lexsort((random.random_sample(len(codes)), codes))
    least = MINIMUM
    if classes is not None:
        counts = np.bincount(codes, minlength=classes)
        order = order[counts[codes[order]] > 1]
        least = max(MINIMUM, int((counts > 1).sum()))
    if len(order) < 2 * MINIMUM:
        raise ValueError(_too_few(len(codes), len(order)))
    wanted = min(max(round(fraction * len(order)), least), len(order) // 2)
    places = (np.arange(wanted) + random.random_sample()) * (len(order) / wanted)
    mask = np.zeros(len(codes), dtype=bool)
    mask[order[places.astype(int)]] = True
    return mask


def _too_few(rows: int, free: int) -> str:
    alone = f", {rows - free} of them the only one of its class," if free < rows else ""
    return (
        f"calibration and early stopping hold out at least {MINIMUM} rows and train on as many like them, "
        f"but n_samples={rows}{alone} leaves {free} to share out: give more samples, or set calibrate=False "
        "and early_stopping=False"
    )
