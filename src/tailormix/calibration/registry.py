"""Every calibrator by name."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tailormix import checks

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class CalibratorInfo:
    """What a calibrator does and where its class lives."""

    summary: str
    module: str
    class_name: str

    def load(self) -> Any:
        """Return the class."""
        return getattr(import_module(f"tailormix.calibration.{self.module}"), self.class_name)


CALIBRATORS: dict[str, CalibratorInfo] = {
    "temperature": CalibratorInfo("softmax(z / T): one number", "temperature", "TemperatureScaling"),
    "vector": CalibratorInfo("softmax(w ∘ z + b): two numbers a class", "scaling", "VectorScaling"),
    "matrix": CalibratorInfo("softmax(W z + b): a full linear map", "scaling", "MatrixScaling"),
    "isotonic": CalibratorInfo(
        "a monotone step map of each class's probability", "isotonic", "IsotonicCalibration"
    ),
    "variance": CalibratorInfo("s · σ²: one factor on the predicted variance", "variance", "VarianceScaling"),
}


def load(path: str | Path) -> Any:
    """Read back any saved calibrator, JSON or safetensors, by the kind written in it."""
    from tailormix.calibration.calibrator import read

    stored = read(path)
    return CALIBRATORS[checks.known("kind", stored.kind, CALIBRATORS)].load().restore(stored)
