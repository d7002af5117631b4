"""scikit-learn's own checks of estimators, all of them, with no expected failure."""

import os
import subprocess
import sys
from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from tailormix.integrations.sklearn import MixupClassifier, MixupRegressor

# scipy reads SCIPY_ARRAY_API when it is imported, and without it scikit-learn skips this check.
ARRAY_API = """
from sklearn.utils.estimator_checks import check_array_api_input
from tailormix.integrations.sklearn import MixupClassifier, MixupRegressor
for estimator in (MixupClassifier(max_iter=2), MixupRegressor(max_iter=2)):
    name = type(estimator).__name__
    check_array_api_input(name, estimator, array_namespace="numpy", expect_only_array_outputs=False)
    print(name, "passed")
"""


# Without the second training, which is the first one over again, and with fewer epochs: half of the time. The
# defaults pass as well.
@parametrize_with_checks([MixupClassifier(refit=False, max_iter=15), MixupRegressor(refit=False)])
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


def test_array_api_dispatch_changes_nothing() -> None:
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    command = [sys.executable, "-c", ARRAY_API]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["MixupClassifier", "passed", "MixupRegressor", "passed"]
