"""Strength and method that rows held out choose."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import log_loss

from integrations.sklearn.quick import REAL, X, Y, classifier, regressor
from tailormix.integrations.sklearn import base
from tailormix.integrations.sklearn.options import DECAYS, PORTFOLIO, options_of

LEARNING = {"max_iter": 20, "learning_rate": 0.03}


def held_of(model: Any) -> Any:
    return base.held_out(Y, 0.2, np.random.RandomState(model._split), classes=3)


@pytest.mark.parametrize("members", [1, 2])
def test_the_method_with_the_lowest_loss_on_rows_held_out_is_taken(members: int) -> None:
    """Each of the portfolio alone, with the same seed: the chosen one is the best of them."""
    options = {"calibrate": False, "refit": False, **LEARNING}
    model = classifier(method="auto", members=members, **options).fit(X, Y)
    held, losses = held_of(model), {}
    for name in PORTFOLIO:
        strength = {"erm": {}, "mixup": "alpha", "regmixup": "alpha"}.get(name, "tau_max")
        alone = classifier(
            method=name,
            method_options={strength: "auto"} if isinstance(strength, str) else None,
            **options | ({"calibrate": True} if name == "erm" else {}),  # erm would hold out no rows
        ).fit(X, Y)
        alone.temperature_ = 1.0
        losses[name] = log_loss(Y[held], alone.predict_proba(X[held]))
        if name == model.method_ and members == 1:
            assert np.array_equal(alone.predict_proba(X), model.predict_proba(X))
    assert model.method_ == min(losses, key=losses.__getitem__)
    assert len(model.modules_) == members


@pytest.mark.parametrize("method", ["erm", "auto"])
def test_the_weight_decay_with_the_lowest_loss_on_rows_held_out_is_taken(method: str) -> None:
    """Each one alone in plain training, with the same seed; then the methods compete with the best."""
    options = {"refit": False, **LEARNING}
    model = classifier(method=method, weight_decay="auto", **options).fit(X, Y)
    held, losses = held_of(model), {}
    for decay in DECAYS:
        alone = classifier(method="erm", weight_decay=decay, **options).fit(X, Y)
        alone.temperature_ = 1.0
        losses[decay] = log_loss(Y[held], alone.predict_proba(X[held]))
    assert model.weight_decay_ == min(losses, key=losses.__getitem__)
    assert len(set(losses.values())) == len(DECAYS)
    same = classifier(method=method, weight_decay=model.weight_decay_, **options).fit(X, Y)
    assert same.method_ == model.method_
    assert np.array_equal(same.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("refit", [True, False])
def test_members_and_the_second_training_have_the_chosen_weight_decay(refit: bool) -> None:
    both = {"method": "mixup", "members": 2, "refit": refit, **LEARNING}
    model = classifier(weight_decay="auto", **both).fit(X, Y)
    same = classifier(weight_decay=model.weight_decay_, **both).fit(X, Y)
    assert np.array_equal(same.predict_proba(X), model.predict_proba(X))


def test_the_second_training_repeats_the_strengths_of_the_first() -> None:
    """On the same rows, as if nothing had been held out, it would be the same training."""
    model = classifier(method="sk-mixup", method_options={"tau_max": "auto"}, members=2, **LEARNING)
    inputs, targets = model._read(X, Y, first=True, incremental=False)
    problem = model._problems(targets)["sk-mixup"]
    held, options = np.arange(60) % 5 == 0, options_of(model)
    first, history = base.learn(problem, inputs, targets, held, options, [1, 2], None)
    strengths = np.array(history.strengths)
    assert strengths.shape == (20, 2)
    assert len(np.unique(strengths)) > 20
    rows = inputs[~held], targets[~held]
    again, repeated = base.learn(
        problem, *rows, np.zeros(48, dtype=bool), options, [1, 2], None, history.strengths
    )
    assert repeated.strengths == history.strengths
    for one, other in zip(first.modules, again.modules, strict=True):
        for a, b in zip(one.parameters(), other.parameters(), strict=True):
            assert torch.equal(a, b)


def test_fits_are_identical_and_can_be_pickled() -> None:
    one, same = (classifier(method="auto", members=2).fit(X, Y) for _ in range(2))
    assert one.method_ == same.method_
    assert np.array_equal(one.predict_proba(X), same.predict_proba(X))
    assert np.array_equal(pickle.loads(pickle.dumps(one)).predict_proba(X), one.predict_proba(X))


def test_a_choice_stays() -> None:
    """A warm start goes on with the method that was chosen; partial_fit has no rows to choose by."""
    model = classifier(method="auto", warm_start=True).fit(X, Y)
    chosen = model.method_
    assert model.fit(X, Y).method_ == chosen
    assert model.n_iter_ == 6
    model = classifier(weight_decay="auto", warm_start=True).fit(X, Y)
    chosen = model.weight_decay_
    assert model.fit(X, Y).weight_decay_ == chosen
    assert model.n_iter_ == 6
    model = classifier(method="auto", weight_decay="auto").partial_fit(X, Y, classes=[0, 1, 2])
    assert (model.method_, model.weight_decay_) == ("erm", 0.01)


def test_early_stopping() -> None:
    model = classifier(
        method="auto", early_stopping=True, max_iter=100, n_iter_no_change=2, learning_rate=0.1
    ).fit(X, Y)
    assert model.n_iter_ < 100


def test_real_targets_take_weak_regmixup() -> None:
    model = regressor().fit(X, REAL)
    assert model.method_ == "regmixup"
    named = regressor(method="regmixup", method_options={"alpha": 0.05}).fit(X, REAL)
    np.testing.assert_array_equal(model.predict(X), named.predict(X))
    plain = regressor(method="erm").fit(X, REAL)
    assert not np.array_equal(model.predict(X), plain.predict(X))


def test_what_cannot_set_itself() -> None:
    with pytest.raises(ValueError, match="is for classes, and y has real targets"):
        regressor(method="sk-mixup", method_options={"tau_max": "auto"}).fit(X, REAL)
    with pytest.raises(
        ValueError, match=r"go with the name of a method, got \{'tau_std': 1.0\} with method='auto'"
    ):
        classifier(method="auto", method_options={"tau_std": 1.0}).fit(X, Y)
    with pytest.raises(ValueError, match="only tau_max can be set automatically"):
        classifier(method="sk-mixup", method_options={"tau_std": "auto"}).fit(X, Y)
    with pytest.raises(ValueError, match="erm has no strength that could be set automatically"):
        classifier(method="erm", method_options={"alpha": "auto"}).fit(X, Y)
    with pytest.raises(ValueError, match="needs rows held out, and partial_fit holds none out"):
        classifier(method="mixup", method_options={"alpha": "auto"}).partial_fit(X, Y, classes=[0, 1, 2])
