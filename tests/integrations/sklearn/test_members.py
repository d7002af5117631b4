"""Several members: each as if it were alone, and one answer of all."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.metrics import log_loss
from torch import nn

from integrations.sklearn.quick import REAL, X, Y, classifier, regressor
from tailormix.integrations.sklearn import base, network
from tailormix.integrations.sklearn.options import options_of
from tailormix.metrics import gaussian_nll

CASES = [(classifier, Y), (regressor, REAL)]


def weights(module: nn.Module) -> torch.Tensor:
    return torch.cat([value.flatten() for value in module.state_dict().values()])


def alone(model: Any, number: int) -> Any:
    """The estimator whose only member is this one."""
    single = pickle.loads(pickle.dumps(model))
    single.modules_, single._seeds = [model.modules_[number]], (model._seeds[number],)
    return single


@pytest.mark.parametrize("method", ["erm", "mixup", "sk-mixup", "sk-regmixup"])
@pytest.mark.parametrize(("make", "y"), CASES)
def test_each_member_agrees_with_its_own_single_fit(make: Any, y: Any, method: str) -> None:
    """The same initial weights, order of rows and draws: weights are equal but for rounding."""
    model = make(members=3, method=method, calibrate=False, max_iter=5).fit(X, y)
    inputs, targets = model._read(X, y, first=False, incremental=False)
    problem, none = model._problems(targets)[method], np.zeros(len(X), dtype=bool)
    for seed, module in zip(model._seeds, model.modules_, strict=True):
        options = replace(options_of(model), members=1)
        single, _ = network.learn(problem, inputs, targets, none, options, [seed], None)
        assert torch.allclose(weights(single.modules[0]), weights(module), rtol=1e-4, atol=1e-5)
    first = make(method=method, calibrate=False, max_iter=5).fit(X, y)
    assert torch.allclose(weights(first.modules_[0]), weights(model.modules_[0]), rtol=1e-4, atol=1e-5)


def test_probabilities_are_averaged_and_their_nll_is_below_the_members_mean() -> None:
    """-log mean(p) ≤ mean(-log p), row by row (Jensen)."""
    model = classifier(members=4, calibrate=False, max_iter=10, learning_rate=0.05).fit(X, Y)
    members = np.stack([alone(model, number).predict_proba(X) for number in range(4)])
    together = model.predict_proba(X)
    assert np.allclose(together, members.mean(0))
    rows = np.arange(len(Y))
    assert (-np.log(together[rows, Y]) <= -np.log(members[:, rows, Y]).mean(0) + 1e-12).all()
    assert log_loss(Y, together) < np.mean([log_loss(Y, each) for each in members])


def test_gaussians_are_mixed() -> None:
    """Mean of the means; variance mean(σ²) + var(μ); squared errors and NLL are below the members' mean."""
    model = regressor(members=4, calibrate=False, max_iter=10, learning_rate=0.02).fit(X, REAL)
    means, stds = np.stack([alone(model, k).predict(X, return_std=True) for k in range(4)]).swapaxes(0, 1)
    mean, std = model.predict(X, return_std=True)
    assert np.allclose(mean, means.mean(0))
    assert np.allclose(std**2, (stds**2).mean(0) + means.var(0))
    assert ((mean - REAL) ** 2 <= ((means - REAL) ** 2).mean(0) + 1e-12).all()
    single = [gaussian_nll(m, s, REAL) for m, s in zip(means, stds, strict=True)]
    assert gaussian_nll(mean, std, REAL) < np.mean(single)


def test_calibration_is_fitted_on_the_common_answer() -> None:
    """Averaged members are less sure than single ones, so that T is another."""
    options = {"refit": False, "max_iter": 20, "learning_rate": 0.05}
    together, single = classifier(members=5, **options).fit(X, Y), classifier(**options).fit(X, Y)
    assert together.temperature_ != single.temperature_
    assert regressor(members=3).fit(X, REAL).variance_scale_ != regressor().fit(X, REAL).variance_scale_


def test_disagreement_by_hand() -> None:
    """Pairs of four members that name different classes; the standard deviation of the members' means."""
    model = classifier(members=4, max_iter=1).fit(X, Y)
    named = np.stack([alone(model, number).predict(X) for number in range(4)])
    pairs = [named[i] != named[j] for i in range(4) for j in range(i)]
    assert np.allclose(model.disagreement(X), np.mean(pairs, axis=0))
    assert 0 < model.disagreement(X).mean() < 1
    real = regressor(members=4).fit(X, np.stack([REAL, -REAL], axis=1))
    means = np.stack([alone(real, number).predict(X) for number in range(4)])
    assert np.allclose(real.disagreement(X), means.std(0))
    for lonely in (classifier().fit(X, Y), regressor().fit(X, REAL)):
        with pytest.raises(ValueError, match="disagreement needs two members or more, got members=1"):
            lonely.disagreement(X)


@pytest.mark.parametrize(("make", "y"), CASES)
def test_refits_clones_and_pickles_are_identical(make: Any, y: Any) -> None:
    model = make(members=3).fit(X, y)
    for other in (make(members=3).fit(X, y), clone(model).fit(X, y), pickle.loads(pickle.dumps(model))):
        for one, same in zip(model.modules_, other.modules_, strict=True):
            assert torch.equal(weights(one), weights(same))
        assert np.array_equal(model.predict(X), other.predict(X))
        assert np.array_equal(model.disagreement(X), other.disagreement(X))
    sizes = [len(pickle.dumps(make(members=k).fit(X, y))) for k in (1, 4)]
    assert sizes[1] < 5 * sizes[0]


@pytest.mark.parametrize(("make", "y"), CASES)
def test_members_go_on(make: Any, y: Any) -> None:
    """By warm_start and by partial_fit, all of them; their number stays."""
    warm = make(members=2, warm_start=True).fit(X, y)
    before = [weights(module) for module in warm.modules_]
    warm.fit(X, y)
    assert all(not torch.equal(a, weights(b)) for a, b in zip(before, warm.modules_, strict=True))
    assert warm.n_iter_ == 6
    with pytest.raises(ValueError, match="members must stay 2, as in the fit before, got 3"):
        warm.set_params(members=3).fit(X, y)
    step = make(members=2, learning_rate=0.02)
    arguments = {"classes": [0, 1, 2]} if make is classifier else {}
    for _ in range(30):
        step.partial_fit(X, y, **arguments)
    assert step.score(X, y) > 0.8
    copied = pickle.loads(pickle.dumps(step))
    assert np.array_equal(copied.partial_fit(X, y).predict(X), step.partial_fit(X, y).predict(X))


def test_early_stopping_looks_at_the_common_answer() -> None:
    """The best epoch is that of the averaged probabilities, for all members."""
    options = {"early_stopping": True, "max_iter": 200, "n_iter_no_change": 3, "learning_rate": 0.1}
    model = classifier(members=3, calibrate=False, **options).fit(X, Y)
    curve = model.validation_curve_
    assert len(curve) - 1 - int(np.argmin(curve)) == 3
    held = base.held_out(Y, 0.2, np.random.RandomState(model._split), classes=3)
    assert log_loss(Y[held], model.predict_proba(X[held])) == pytest.approx(min(curve), rel=1e-4)


def test_what_cannot_be_stacked_is_trained_one_after_the_other() -> None:
    """Members of several architectures, and a method that vmap cannot do, with a sentence that says why."""
    widths = iter(range(4, 100))

    def growing(n_features: int, n_outputs: int) -> nn.Module:
        return nn.Sequential(nn.Linear(n_features, width := next(widths)), nn.Linear(width, n_outputs))

    with pytest.warns(UserWarning, match="one after the other: .* one architecture, but module '0' differs"):
        model = classifier(members=2, module=growing, calibrate=False).fit(X, Y)
    assert model.predict_proba(X).shape == (60, 3)

    class Branch(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x if x.sum().item() > 0 else -x

    def branching(n_features: int, n_outputs: int) -> nn.Module:
        return nn.Sequential(nn.Linear(n_features, 4), nn.Sequential(Branch()), nn.Linear(4, n_outputs))

    with pytest.warns(UserWarning, match=r"trained together: in module '1.0': .*\.item\(\)"):
        classifier(members=2, module=branching, refit=False).fit(X, Y)
    with pytest.warns(UserWarning, match="members are trained one after the other"):
        model = classifier(members=2, method="manifold-mixup", refit=False).fit(X, Y)
    assert len(model.modules_) == 2
