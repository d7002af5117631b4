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


def mixed_frame() -> pd.DataFrame:
    """Numbers, categories, words and truth values, with missing values among each."""
    frame = pd.DataFrame(
        {
            "size": np.where(np.arange(60) % 7 == 0, np.nan, X[:, 0]),
            "colour": np.array(["red", "green", None])[Y],
            "grade": pd.Categorical(np.arange(60) % 4),
            "rooms": pd.array([None if k % 9 == 0 else k % 5 for k in range(60)], dtype="Int64"),
            "sold": pd.array([None if k % 11 == 0 else k % 2 == 0 for k in range(60)], dtype="boolean"),
        }
    )
    return frame.astype({"colour": "string"})


@pytest.mark.parametrize(("make", "y"), CASES)
def test_data_frames_of_numbers_words_and_gaps(make: Any, y: Any) -> None:
    """One preprocessing for all of them, fitted on the rows that are trained on."""
    frame = mixed_frame()
    model = make().fit(frame, y)
    assert list(model.feature_names_in_) == list(frame)
    plain, colours = ["size", "rooms", "sold"], ["colour=green", "colour=red", "colour is missing"]
    grades = [f"grade={k}" for k in range(4)]
    assert model.preprocessing_.output_names() == plain + colours + grades + [
        f"{n} is missing" for n in plain
    ]
    found = model.predict(frame)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(frame), found)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert np.array_equal(model.predict(frame.astype(object).to_numpy()), found)
    assert model.partial_fit(frame[:20], y[:20]).n_iter_ == 4
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["size", "colour"]])
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        model.predict(frame[:0])


def test_a_kind_is_that_of_all_rows_also_of_those_held_out() -> None:
    """One "perhaps" among yes and no, whichever row it is in: categories."""
    for row in range(0, 60, 7):
        words = np.where(np.arange(60) == row, "perhaps", np.where(Y == 1, "yes", "no"))
        model = classifier(max_iter=1, refit=False).fit(pd.DataFrame({"a": words, "b": X[:, 0]}), Y)
        assert model.preprocessing_.columns[0].kind == "category"


def test_words_carry_over() -> None:
    """The colour tells the class: with it the classifier is right, and unseen colours are no error."""
    frame = mixed_frame()[["colour", "sold"]]
    model = classifier(max_iter=40, learning_rate=0.03).fit(frame, Y)
    assert model.score(frame, Y) == 1
    assert np.allclose(model.predict_proba(frame.assign(colour="violet")).sum(1), 1)


@pytest.mark.parametrize(("make", "y"), CASES)
def test_missing_numbers_in_arrays(make: Any, y: Any) -> None:
    """The same answers as from a data frame: the median, and a column that says what was missing."""
    holed = np.where(np.arange(X.size).reshape(X.shape) % 5 == 0, np.nan, X)
    model = make().fit(holed, y)
    assert len(model.preprocessing_.output_names()) == 8
    assert np.array_equal(
        make().fit(pd.DataFrame(holed), y).predict(pd.DataFrame(holed)), model.predict(holed)
    )


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
