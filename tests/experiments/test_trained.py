"""A run that is loaded from its folder answers as it did in training; what cannot be loaded says why."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import special, stats

import tailormix
from helpers import run_python
from support_trained import X, train_arrays, train_table
from tailormix.calibration import VarianceScaling
from tailormix.calibration.predictions import load_predictions
from tailormix.data import DataError
from tailormix.training.run_folder import RunError


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_arrays(tmp_path_factory.mktemp("classifier"), "classes", "mlp")


@pytest.fixture(scope="module")
def regression(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_arrays(tmp_path_factory.mktemp("regression"), "values", "fcn3")


def test_probabilities_are_those_of_the_run_after_its_calibrator(classifier: Path) -> None:
    run, stored = tailormix.load_run(classifier), load_predictions(classifier / "predictions.npz")
    asked = X[stored.ids]
    raw = special.softmax(stored.logits.astype(float), axis=1)
    np.testing.assert_allclose(run.predict_proba(asked, calibrated=False), raw, atol=1e-6)
    temperature = run.result["temperature"]["value"]
    scaled = special.softmax(stored.logits.astype(float) / temperature, axis=1)
    np.testing.assert_allclose(run.predict_proba(asked), scaled, atol=1e-6)
    assert abs(temperature - 1) > 1e-3
    assert run.predict(asked).tolist() == scaled.argmax(1).tolist()
    assert (run.class_names, run.task) == (("0", "1", "2"), "classification")
    assert "MLP, classes 0, 1, 2, calibrated by temperature" in repr(run)


def test_intervals_are_those_of_the_run_after_its_calibrator(regression: Path) -> None:
    run, stored = tailormix.load_run(regression), load_predictions(regression / "predictions.npz")
    found = run.predict_interval(X[stored.ids], coverage=0.8)
    scale = VarianceScaling.load(regression / "calibrator.json").scale
    np.testing.assert_allclose(found.mean, stored.mean[:, 0], rtol=1e-5)
    np.testing.assert_allclose(found.std, stored.std[:, 0] * scale**0.5, rtol=1e-4)
    np.testing.assert_allclose(found.upper - found.mean, stats.norm.ppf(0.9) * found.std, rtol=1e-6)
    np.testing.assert_allclose(found.lower + found.upper, 2 * found.mean, rtol=1e-6)
    assert run.predict(X).tolist() == run.predict(X).tolist()  # dropout is seeded
    plain = run.predict_interval(X[stored.ids], calibrated=False)
    np.testing.assert_allclose(plain.std, stored.std[:, 0], rtol=1e-4)


@pytest.mark.parametrize("model", ["mlp", "fcn3"])
def test_without_dropout_the_spread_is_the_validation_error(
    model: str, regression: Path, tmp_path: Path
) -> None:
    path = regression if model == "fcn3" else train_arrays(tmp_path, "values", model)
    run, held = tailormix.load_run(path), load_predictions(path / "validation.npz")
    found = run.predict_interval(X, dropout=False)
    error = np.sqrt(np.mean((held.mean - held.targets) ** 2))
    np.testing.assert_allclose(found.std, error, rtol=1e-6)
    if model == "mlp":
        with pytest.raises(
            ValueError, match="no spread is known: without dropout it comes from the calibration"
        ):
            run.predict_interval(X, calibrated=False)


def test_tables_are_asked_by_file_by_data_frame_and_by_array(tmp_path: Path) -> None:
    """Columns in any order by name, in that of the table without names; words are coded as in training."""
    pandas = pytest.importorskip("pandas")
    run = tailormix.load_run(train_table(tmp_path))
    stored = load_predictions(run.path / "predictions.npz")
    logits = stored.logits.astype(float) / run.calibrator.temperature
    by_file = run.predict_proba(tmp_path / "fruits.csv")
    np.testing.assert_allclose(by_file[stored.ids], special.softmax(logits, axis=1), atol=1e-6)
    frame = pandas.read_csv(tmp_path / "fruits.csv")
    np.testing.assert_array_equal(run.predict_proba(frame[["ripe", "colour", "size"]]), by_file)
    np.savez(tmp_path / "codes.npz", x=run.preprocessing.read(frame).numpy()[:, [0, 2]])
    with pytest.raises(DataError, match=r"expected shape \(n, 3\), got \(120, 2\)"):
        run.predict_proba(tmp_path / "codes.npz")
    assert set(run.predict(frame)) <= {"apple", "pear, ripe"} == set(run.class_names)


def test_loading_needs_neither_the_data_nor_the_folder_it_ran_in(classifier: Path, tmp_path: Path) -> None:
    moved = shutil.copytree(classifier, tmp_path / "moved")
    code = (
        "import os, sys, tailormix; os.chdir('/'); "
        "run = tailormix.load_run(sys.argv[1]); "
        "print(run.predict_proba([[50.0, 40.0, 60.0]])[0].tolist())"
    )
    (classifier.parent / "rows.npz").rename(tmp_path / "rows.npz")
    try:
        answer = json.loads(run_python(code, [str(moved)]))
    finally:
        (tmp_path / "rows.npz").rename(classifier.parent / "rows.npz")
    np.testing.assert_allclose(
        answer, tailormix.load_run(classifier).predict_proba([[50.0, 40.0, 60.0]])[0], atol=1e-6
    )


def test_loading_leaves_the_random_state_alone(classifier: Path) -> None:
    before = torch.get_rng_state()
    tailormix.load_run(classifier).predict(X)
    assert torch.equal(before, torch.get_rng_state())


def test_a_question_of_the_other_task_is_refused(classifier: Path, regression: Path) -> None:
    with pytest.raises(ValueError, match="predict_proba is for classification"):
        tailormix.load_run(regression).predict_proba(X)
    with pytest.raises(ValueError, match="predict_interval is for regression"):
        tailormix.load_run(classifier).predict_interval(X)
    with pytest.raises(ValueError, match="coverage must lie between 0 and 1, got 90"):
        tailormix.load_run(regression).predict_interval(X, coverage=90)
    with pytest.raises(ValueError, match="X must have a row or more"):
        tailormix.load_run(regression).predict(X[:0])


def remove(name: str) -> Callable[[Path], object]:
    return lambda path: next(path.glob(name)).unlink()


def overwrite(name: str, text: str) -> Callable[[Path], object]:
    return lambda path: next(path.glob(name)).write_text(text)


def change(**values: Any) -> Callable[[Path], object]:
    def edit(path: Path) -> None:
        found = json.loads((path / "model.json").read_text())
        (path / "model.json").write_text(json.dumps({**found, **values}))

    return edit


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (shutil.rmtree, "there is no such folder"),
        (remove("result.json"), "is not finished: the command that started it resumes it"),
        (remove("model.json"), "model.json is missing"),
        (remove("preprocessing.safetensors"), "preprocessing.safetensors is missing"),
        (remove("calibrator.json"), "calibrator.json is missing"),
        (remove("checkpoints/best-*"), "best-1.safetensors is missing"),
        (overwrite("checkpoints/best-*", "x"), "best-1.safetensors is damaged"),
        (overwrite("preprocessing.safetensors", "x"), "expected a saved preprocessing"),
        (overwrite("calibrator.json", "{}"), "cannot read a calibrator from"),
        (overwrite("model.json", "{"), "model.json is not JSON"),
        (change(format=0), "model.json must have format 1, got 0"),
        (change(model={"name": "mlp", "arguments": {"in_features": 4}}), "does not fit the model"),
        (change(model={"name": "mlpp", "arguments": {}}), "unknown model 'mlpp'"),
        (change(class_names=3), "class_names"),
        (change(model={"name": "os:abort", "arguments": {}}), "cannot be used: 'plugin'"),
        (
            change(model={"name": "os:abort", "arguments": {}, "plugin": {"file": None, "sha256": None}}),
            "its model is code of yours, os:abort: name it again to run it, model='os:abort'",
        ),
    ],
)
def test_a_folder_that_cannot_be_used_says_why(
    damage: Callable[[Path], object], said: str, classifier: Path, tmp_path: Path
) -> None:
    broken = shutil.copytree(classifier, tmp_path / "run")
    damage(broken)
    with pytest.raises(RunError) as raised:
        tailormix.load_run(broken)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_folder_of_runs_names_them(classifier: Path) -> None:
    with pytest.raises(RunError, match="it holds the runs run: name one of them"):
        tailormix.load_run(classifier.parent)
