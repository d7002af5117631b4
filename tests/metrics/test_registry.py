"""One dictionary names the metrics: functions, classes and folder agree with it."""

import inspect
import subprocess
import sys

import pytest

from tailormix import metrics
from tailormix.metrics.registry import METRICS, metric_function


@pytest.mark.parametrize("name", METRICS)
def test_function_signature_and_class(name: str) -> None:
    function = metric_function(name)
    assert getattr(metrics, name) is function
    positional = [
        p.name for p in inspect.signature(function).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD
    ]
    assert tuple(positional) == METRICS[name].arrays
    one = getattr(metrics, METRICS[name].class_name)
    assert tuple(inspect.signature(one.update).parameters)[1:] == METRICS[name].arrays
    assert one.higher_is_better is METRICS[name].higher_is_better


def test_dictionary_and_folder_are_equal() -> None:
    from torchmetrics import Metric

    public = {name: getattr(metrics, name) for name in metrics.__all__}
    classes = {name for name, one in public.items() if inspect.isclass(one) and issubclass(one, Metric)}
    assert classes == {info.class_name for info in METRICS.values()}
    others = {"interval", "paired_test", "summary", "regression_summary"}
    assert {name for name, one in public.items() if inspect.isfunction(one)} - others == set(METRICS)


def test_functions_without_torchmetrics() -> None:
    program = (
        "import sys; sys.modules['torchmetrics'] = None; sys.modules['matplotlib'] = None\n"
        "import numpy as np; from tailormix.metrics import ece, summary, interval\n"
        "print(ece(np.eye(2), np.array([0, 1])))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "0.0"), done.stderr
