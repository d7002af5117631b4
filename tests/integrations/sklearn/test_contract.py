"""scikit-learn's own checks of estimators, all of them, with no expected failure."""

import os
import subprocess
import sys
from typing import Any

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

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


# Without the second training, which is the first one over again, and with fewer epochs of larger steps. The
# defaults pass as well.
QUICK = {"refit": False, "max_iter": 4, "learning_rate": 0.02}
CHECKS = (
    *("check_classifiers_classes", "check_classifiers_one_label", "check_classifiers_train"),
    *("check_dict_unchanged", "check_dont_overwrite_attributes", "check_estimators_fit_returns_self"),
    *("check_estimators_overwrite_params", "check_estimators_partial_fit_n_features"),
    *("check_estimators_pickle", "check_fit_check_is_fitted", "check_fit_idempotent"),
    *("check_methods_sample_order_invariance", "check_methods_subset_invariance"),
    *("check_n_features_in", "check_readonly_memmap_input", "check_supervised_y_2d"),
)


@parametrize_with_checks([MixupClassifier("sk-mixup", weight_decay=0.01, **QUICK), MixupRegressor(**QUICK)])
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pytest.param(estimator, check, id=check.func.__name__)
        for options in ({}, {"method": "erm", "weight_decay": 0.01, "members": 2})
        for estimator, check in estimator_checks_generator(MixupClassifier(**QUICK, **options))
        if check.func.__name__ in CHECKS
    ],
)
def test_scikit_learn_accepts_chosen_methods_and_members(estimator: Any, check: Any) -> None:
    """The checks of what differs between them: what is fitted, repeated, pickled and predicted."""
    check(estimator)


def test_array_api_dispatch_changes_nothing() -> None:
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    command = [sys.executable, "-c", ARRAY_API]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["MixupClassifier", "passed", "MixupRegressor", "passed"]
