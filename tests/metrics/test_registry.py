"""One dictionary names the metrics: functions, classes and folder agree with it."""

import inspect

import pytest

from helpers import run_python
from tailormix import metrics
from tailormix.metrics.registry import METRICS, metric_function


@pytest.mark.parametrize("name", METRICS)
def test_function_signature_and_class(name: str) -> None:
    function = metric_function(name)
    assert getattr(metrics, name) is function
    parameters = inspect.signature(function).parameters.values()
    assert tuple(p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD) == METRICS[name].arrays
    one = getattr(metrics, METRICS[name].class_name)
    assert tuple(inspect.signature(one.update).parameters)[1:] == METRICS[name].arrays
    assert one.higher_is_better is METRICS[name].higher_is_better


def test_every_public_metric_is_in_the_dictionary() -> None:
    others = {"interval", "paired_test", "summary", "regression_summary"}
    functions = {name for name in metrics.__all__ if inspect.isfunction(getattr(metrics, name))}
    assert functions - others == set(METRICS)


def test_functions_without_torchmetrics() -> None:
    program = (
        "import sys; sys.modules['torchmetrics'] = None; sys.modules['matplotlib'] = None\n"
        "import numpy as np; from tailormix.metrics import ece, summary, interval\n"
        "print(ece(np.eye(2), np.array([0, 1])))"
    )
    assert run_python(program) == "0.0\n"
