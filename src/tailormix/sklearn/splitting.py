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
    is never held out. ``classes`` is the number of classes, ``None`` for real targets (n, outputs).

    >>> y = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    >>> y[held_out(y, 0.5, np.random.RandomState(0), classes=2)]
    array([0, 0, 1, 1])
    """
    codes = y if classes is not None else y[:, 0]
    order = np.lexsort((random.random_sample(len(codes)), codes))
    if classes is not None:
        order = order[np.bincount(codes, minlength=classes)[codes[order]] > 1]
    wanted = round(fraction * len(codes))
    if min(wanted, len(order)) < (MINIMUM if classes is None else max(MINIMUM, classes)):
        raise ValueError(_too_few(len(codes), wanted, fraction, classes))
    places = (np.arange(wanted) + random.random_sample()) * (len(order) / wanted)
    mask = np.zeros(len(codes), dtype=bool)
    mask[order[places.astype(int)]] = True
    return mask


def _too_few(rows: int, wanted: int, fraction: float, classes: int | None) -> str:
    needed = f"{MINIMUM} rows" if classes is None else f"one row for each of the {classes} classes"
    return (
        f"validation_fraction={fraction} of n_samples={rows} leaves {wanted} rows for validation, but "
        f"calibration and early stopping need at least {needed}: give more samples, or set calibrate=False "
        "and early_stopping=False"
    )
