"""Reports without the packages that draw."""

from helpers import run_python


def test_an_evaluation_needs_neither_plots_nor_training_packages() -> None:
    blocked = ("matplotlib", "jinja2", "lightning_fabric", "joblib", "sklearn", "pooch")
    code = f"""
import sys
sys.modules.update(dict.fromkeys({blocked}))
import numpy as np
from tailormix.calibration.predictions import Predictions
from tailormix.reports import Settings, evaluate
given = Predictions(targets=np.array([0, 1]), probabilities=np.eye(2))
print(evaluate(given, settings=Settings(resamples=0)).before["accuracy"].value)
"""
    assert run_python(code) == "1.0\n"
