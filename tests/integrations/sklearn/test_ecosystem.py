"""In the company of scikit-learn: pipelines, searches, frames, sparse matrices, files."""

import pickle
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from integrations.sklearn.quick import REAL, X, Y, classifier, regressor

CASES = [(classifier, Y), (regressor, REAL)]


@pytest.mark.parametrize(("make", "y"), CASES)
def test_pipelines_and_cross_validation(make: Any, y: Any) -> None:
    scores = cross_val_score(make_pipeline(PolynomialFeatures(2), make()), X, y, cv=2)
    assert np.isfinite(scores).all()


def test_searches_tune_methods_and_numbers() -> None:
    """Grids of numpy numbers are taken as numbers."""
    grid = {
        "method_options": [{"tau_std": 0.25}, {"tau_std": 1.0}],
        "max_iter": np.array([1, 2]),
        "weight_decay": np.array([0.1], dtype=np.float32),
    }
    search = GridSearchCV(classifier(), grid, cv=2, scoring="neg_log_loss").fit(X, Y)
    assert len(search.cv_results_["params"]) == 4
    assert search.best_estimator_.n_iter_ == search.best_params_["max_iter"]
    search = GridSearchCV(regressor(), {"method": ["erm", "sk-mixup"]}, cv=2, error_score="raise")
    assert search.fit(X, REAL).best_params_["method"] in ("erm", "sk-mixup")


def test_calibrated_classifier() -> None:
    model = CalibratedClassifierCV(classifier(), cv=2).fit(X, Y)
    assert np.allclose(model.predict_proba(X).sum(1), 1)


@pytest.mark.parametrize(("make", "y"), CASES)
def test_data_frames(make: Any, y: Any) -> None:
    """The same answers as from arrays, and columns by name."""
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = make().fit(frame, pd.Series(y))
    assert list(model.feature_names_in_) == list("abcd")
    assert np.array_equal(model.predict(frame), make().fit(X, y).predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[list("dcba")])


@pytest.mark.parametrize(("make", "y"), CASES)
@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array])
def test_sparse_matrices(make: Any, y: Any, form: Any) -> None:
    assert np.array_equal(make().fit(form(X), y).predict(form(X)), make().fit(X, y).predict(X))


@pytest.mark.parametrize(("make", "y"), CASES)
def test_frames_as_the_default_output_change_nothing(make: Any, y: Any) -> None:
    with sklearn.config_context(transform_output="pandas"):
        inside = make().fit(X, y).predict(X)
    assert np.array_equal(inside, make().fit(X, y).predict(X))


@pytest.mark.parametrize(("make", "y"), CASES)
def test_pickles_and_dumps(make: Any, y: Any, tmp_path: Path) -> None:
    """Copies answer the same, and partial_fit goes on in them as in the original."""
    model = make().fit(X, y).partial_fit(X, y)
    copied = pickle.loads(pickle.dumps(model))
    joblib.dump(model, tmp_path / "model.joblib")
    loaded = joblib.load(tmp_path / "model.joblib")
    for other in (copied, loaded):
        assert np.array_equal(model.predict(X), other.predict(X))
    assert np.array_equal(copied.partial_fit(X, y).predict(X), model.partial_fit(X, y).predict(X))


def test_a_pickle_does_not_hold_the_training_rows() -> None:
    small, large = (classifier().fit(np.tile(X, (k, 1)), np.tile(Y, k)) for k in (1, 20))
    sizes = [len(pickle.dumps(model, protocol=5)) for model in (small, large)]
    assert sizes[1] < 1.1 * sizes[0]
