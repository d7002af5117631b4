"""Calibration after training: fitted on validation points, refused on test points.

Each calibrator has ``fit``, ``transform``, ``save`` and ``load``; ``mc_dropout`` and ``predict`` turn
dropout into a predicted standard deviation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailormix import checks
from tailormix.calibration.calibrator import Calibrator, read
from tailormix.calibration.dropout import MonteCarlo, mc_dropout, predict
from tailormix.calibration.isotonic import IsotonicCalibration
from tailormix.calibration.scaling import MatrixScaling, VectorScaling
from tailormix.calibration.temperature import TemperatureScaling
from tailormix.calibration.variance import VarianceScaling

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "CALIBRATORS",
    "IsotonicCalibration",
    "MatrixScaling",
    "MonteCarlo",
    "TemperatureScaling",
    "VarianceScaling",
    "VectorScaling",
    "load",
    "mc_dropout",
    "predict",
]

#: every calibrator by name
CALIBRATORS: dict[str, type[Calibrator[Any]]] = {
    "temperature": TemperatureScaling,
    "vector": VectorScaling,
    "matrix": MatrixScaling,
    "isotonic": IsotonicCalibration,
    "variance": VarianceScaling,
}


def load(path: str | Path) -> Any:
    """Read back any saved calibrator, JSON or safetensors, by the kind written in it."""
    stored = read(path)
    return CALIBRATORS[checks.known("kind", stored.kind, CALIBRATORS)].restore(stored)
