"""Seeds: identical fits bit by bit, and nobody else's random state touched."""

import random
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.utils import check_random_state

from integrations.sklearn.quick import REAL, X, Y, classifier, regressor

NUMPYS = check_random_state(None)  # the generator behind numpy.random
CASES = [(classifier, Y), (regressor, REAL)]


def weights(model: Any) -> torch.Tensor:
    return torch.cat([value.flatten() for value in model.modules_[0].state_dict().values()])


@pytest.mark.parametrize(("make", "y"), CASES)
def test_an_integer_gives_identical_fits(make: Any, y: Any) -> None:
    one, same, other = (make(random_state=seed).fit(X, y) for seed in (3, 3, 4))
    assert torch.equal(weights(one), weights(same))
    assert one.loss_curve_ == same.loss_curve_
    assert np.array_equal(one.predict(X), same.predict(X))
    if make is regressor:  # dropout is drawn for the spread, the same way each time
        spreads = [model.predict(X, return_std=True)[1] for model in (one, one, same)]
        assert np.array_equal(spreads[0], spreads[1])
        assert np.array_equal(spreads[0], spreads[2])
    assert not torch.equal(weights(one), weights(other))


@pytest.mark.parametrize(("make", "y"), CASES)
def test_a_random_state_goes_on(make: Any, y: Any) -> None:
    """An instance is drawn from: a second fit differs, and a new instance repeats the first."""
    shared = np.random.RandomState(0)
    one, two = (make(random_state=shared).fit(X, y) for _ in range(2))
    again = make(random_state=np.random.RandomState(0)).fit(X, y)
    assert not torch.equal(weights(one), weights(two))
    assert torch.equal(weights(one), weights(again))


@pytest.mark.parametrize(("make", "y"), CASES)
def test_nothing_global_changes(make: Any, y: Any) -> None:
    """Torch, numpy and python draw afterwards what they would have drawn without the fit."""
    before = torch.get_rng_state(), NUMPYS.get_state()[1].copy(), random.getstate()
    model = make().fit(X, y).partial_fit(X, y)
    model.predict(X)
    if make is regressor:
        model.predict(X, return_std=True)
    assert torch.equal(before[0], torch.get_rng_state())
    assert np.array_equal(before[1], NUMPYS.get_state()[1])
    assert before[2] == random.getstate()


def test_without_a_seed_numpy_decides() -> None:
    """None is numpy's own generator, as everywhere in scikit-learn; torch's is left alone all the same."""
    kept, before = NUMPYS.get_state(), torch.get_rng_state()
    try:
        NUMPYS.seed(0)
        one = classifier(random_state=None).fit(X, Y)
        NUMPYS.seed(0)
        same = classifier(random_state=None).fit(X, Y)
    finally:
        NUMPYS.set_state(kept)
    assert torch.equal(weights(one), weights(same))
    assert torch.equal(before, torch.get_rng_state())
