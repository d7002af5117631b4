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

from .catalogue import CALIBRATORS as CALIBRATORS
from .catalogue import load as load
from .dropout import MonteCarlo as MonteCarlo
from .dropout import mc_dropout as mc_dropout
from .dropout import predict as predict
from .isotonic import IsotonicCalibration as IsotonicCalibration
from .linear import MatrixScaling as MatrixScaling
from .linear import VectorScaling as VectorScaling
from .temperature import TemperatureScaling as TemperatureScaling
from .variance import VarianceScaling as VarianceScaling
