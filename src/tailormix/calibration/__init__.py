"""Calibration after training: fitted on validation points, refused on test points.

Each calibrator has ``fit``, ``transform``, ``save`` and ``load``; ``mc_dropout`` and ``predict`` turn
dropout into a predicted standard deviation.
"""

from tailormix.calibration.dropout import MonteCarlo, mc_dropout, predict
from tailormix.calibration.isotonic import IsotonicCalibration
from tailormix.calibration.registry import CALIBRATORS, load
from tailormix.calibration.scaling import MatrixScaling, VectorScaling
from tailormix.calibration.temperature import TemperatureScaling
from tailormix.calibration.variance import VarianceScaling

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
