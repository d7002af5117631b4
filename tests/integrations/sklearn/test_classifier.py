"""The classifier: labels, temperature, class weights, and the ways to go on training."""

import numpy as np
import pytest
import torch
from sklearn.base import clone

from integrations.sklearn.quick import X, Y, classifier
from tailormix import SKMixup

NAMES = np.array(["ant", "bee", "cat"])


def test_labels_may_be_strings() -> None:
    """The same numbers under other names; columns follow the sorted names."""
    plain, named = classifier().fit(X, Y), classifier().fit(X, NAMES[Y])
    assert list(named.classes_) == list(NAMES)
    assert np.array_equal(plain.predict_proba(X), named.predict_proba(X))
    assert np.array_equal(NAMES[plain.predict(X)], named.predict(X))


def test_it_learns() -> None:
    assert classifier(max_iter=40, learning_rate=0.03).fit(X, Y).score(X, Y) > 0.85


def test_probabilities_are_scaled_logits() -> None:
    model = classifier().fit(X, Y)
    found = model.predict_proba(X)
    assert np.allclose(found.sum(1), 1)
    assert np.allclose(np.log(found), model.predict_log_proba(X))
    assert np.array_equal(model.classes_[found.argmax(1)], model.predict(X))
    with torch.no_grad():
        logits = model.modules_[0](model.preprocessing_(torch.tensor(X)))
    assert np.allclose(found, (logits / model.temperature_).softmax(1), atol=1e-5)


def test_the_temperature_comes_from_rows_the_module_has_not_seen() -> None:
    """It is the same with and without a second training on all rows, and 1 without calibration."""
    once, twice = classifier(refit=False).fit(X, Y), classifier(refit=True).fit(X, Y)
    assert once.temperature_ == twice.temperature_ != 1
    assert not torch.equal(once.preprocessing_.centre, twice.preprocessing_.centre)
    assert np.allclose(twice.preprocessing_.centre, X.mean(0))
    assert classifier(calibrate=False).fit(X, Y).temperature_ == 1


def test_class_weights_move_the_answer() -> None:
    options = {"max_iter": 20, "learning_rate": 0.03}
    models = [classifier(class_weight={0: w, 1: 1, 2: 1}, **options).fit(X, Y) for w in (0.01, 1, 100)]
    low, plain, high = (np.mean(model.predict(X) == 0) for model in models)
    assert low < plain < high


def test_balanced_weights_are_those_of_scikit_learn() -> None:
    """40, 10 and 10 rows: 60/(3·40) = 0.5 and twice 60/(3·10) = 2, or 1, 4 and 4."""
    y = np.repeat([0, 1, 2], [40, 10, 10])
    model = classifier(class_weight="balanced").fit(X, y)
    by_hand = classifier(class_weight={0: 1, 1: 4, 2: 4}).fit(X, y)
    assert np.allclose(model.predict_proba(X), by_hand.predict_proba(X))


def test_early_stopping_keeps_the_best_weights() -> None:
    model = classifier(early_stopping=True, max_iter=200, n_iter_no_change=3, learning_rate=0.1).fit(X, Y)
    curve = model.validation_curve_
    assert model.n_iter_ == len(curve) == len(model.loss_curve_) < 200
    assert len(curve) - 1 - int(np.argmin(curve)) == 3


def test_warm_start_goes_on() -> None:
    model = classifier(warm_start=True).fit(X, Y)
    first = list(model.loss_curve_)
    centre = model.preprocessing_.centre
    model.fit(X, Y)
    assert model.n_iter_ == 6
    assert model.loss_curve_[:3] == first
    assert torch.equal(centre, model.preprocessing_.centre)
    with pytest.raises(ValueError, match="classes must stay"):
        model.fit(X, NAMES[Y])


def test_partial_fit_learns_batch_by_batch() -> None:
    model = classifier(learning_rate=0.01)
    for _ in range(15):
        for rows in (slice(0, 20), slice(20, 40), slice(40, 60)):
            model.partial_fit(X[rows], Y[rows], classes=[0, 1, 2])
    assert model.n_iter_ == 45
    assert model.temperature_ == 1
    assert np.allclose(model.preprocessing_.centre, X.mean(0))
    assert np.allclose(model.preprocessing_.spread, X.std(0))
    assert model.score(X, Y) > 0.85


def test_partial_fit_keeps_the_temperature_and_may_see_one_class_at_a_time() -> None:
    model = classifier().fit(X, Y)
    before = model.temperature_
    assert model.partial_fit(X[:1], Y[:1]).temperature_ == before
    model = classifier().partial_fit(X[Y == 1], Y[Y == 1], classes=[0, 1, 2])
    assert model.predict_proba(X).shape == (60, 3)


def test_methods_by_name_and_as_objects_are_equal() -> None:
    named = classifier(method="sk-mixup", method_options={"tau_std": 0.7}).fit(X, Y)
    given = classifier(method=SKMixup(tau_std=0.7)).fit(X, Y)
    assert np.array_equal(named.predict_proba(X), given.predict_proba(X))
    assert clone(given).method.coefficients.tau_std == 0.7
