"""Regression: the methods that are defined for real targets, the errors of the others, and pools."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from nets import Staged, seeded
from tailormix import (
    MITA,
    MITL,
    CMixup,
    CutMix,
    ManifoldMixup,
    Method,
    Mixup,
    RankMixup,
    RankMixupMRL,
    RegMixup,
    Remix,
    SKManifoldMixup,
    SKMixup,
    SKRegMixup,
    build_method,
)
from tailormix import coefficients as c
from tailormix import interpolation as i
from tailormix import objectives as o
from tailormix import pairs as p

N = 6
X = torch.randn(N, 4, generator=seeded())
DEFINED = ["erm", "mixup", "manifold-mixup", "regmixup", "c-mixup", "k-mixup", "local-mixup", "sk-mixup"]
DEFINED += ["sk-regmixup", "two-beta", "quantile-mixup", "warped-mixup"]
POOL_X = torch.randn(20, 4, generator=seeded(4)) + 100
POOL_Y = torch.randn(20, generator=seeded(5)) + 100


@pytest.mark.parametrize("shape", [(N,), (N, 1), (N, 8)])
@pytest.mark.parametrize("name", DEFINED)
def test_defined_for_targets_of_any_shape(name: str, shape: tuple[int, ...]) -> None:
    y = torch.randn(shape, generator=seeded(1))
    model = Staged(outputs=y[0].numel(), flat=y.dim() == 1)
    loss = build_method(name).fit(X, y).loss(model, X, y)
    loss.backward()
    assert loss.shape == ()
    assert loss > 0
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize("name", ["mixup", "k-mixup", "sk-mixup", "local-mixup"])
def test_loss_is_the_squared_error_of_the_mixed_targets(name: str) -> None:
    """With λ = 0.25 for all pairs, and partners in turn; Local Mixup without decay."""
    y, model = torch.randn(N, 8, generator=seeded(1)), Staged(outputs=8)
    partner, lam = torch.arange(N).roll(1), torch.full((N,), 0.25)
    method = build_method(name, **({"sigma": 0.0} if name == "local-mixup" else {}))
    loss = method.loss(model, X, y, plan=type(method.plan(X, y))(partner, lam))
    mixed = 0.25 * y + 0.75 * y[partner]
    torch.testing.assert_close(loss, nn.functional.mse_loss(model(0.25 * X + 0.75 * X[partner]), mixed))


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (RankMixup(), "RankMixup is defined for classification"),
        (RankMixupMRL(), "RankMixup is defined for classification"),
        (MITL(), "MIT is defined for classification"),
        (MITA(), "MIT is defined for classification"),
        (Remix(counts=(1, 2)), "Remix is defined for classification"),
        (CutMix(), "CutMix needs images"),
        (CMixup(), r"call fit\(x, y\) with the training set"),
        (Mixup(partners="pool"), r"call fit\(x, y\) with the training set"),
    ],
)
def test_undefined_methods_say_so_before_the_model_is_run(method: Method, message: str) -> None:
    model = Staged(outputs=1)
    with pytest.raises(ValueError, match=message):
        method.loss(model, X, torch.randn(N, 1))
    assert not model.calls


def test_predictions_must_be_shaped_like_targets() -> None:
    """(n, 1) against (n,) would broadcast to (n, n)."""
    with pytest.raises(ValueError, match=r"one shape, got \(6, 1\) and \(6,\).*y\[:, None\]"):
        Mixup().loss(Staged(outputs=1), X, torch.randn(N))


def test_class_labels_are_refused_by_label_density() -> None:
    method = CMixup().fit(X, torch.randn(N))
    with pytest.raises(ValueError, match="need real targets, got class labels"):
        method.loss(Staged(), X, torch.arange(N) % 3)


def test_a_pool_has_no_embeddings_and_no_hidden_states() -> None:
    with pytest.raises(ValueError, match="partners from the pool have no embeddings: use space='label'"):
        SKMixup(space="embedding", partners="pool")
    with pytest.raises(ValueError, match="partners from the pool cannot be mixed at a hidden layer"):
        Method(p.RandomPairs("pool"), c.Beta(), i.HiddenLayer(), o.MixedTargets())
    classes = SKMixup(partners="pool").fit(X, torch.arange(N) % 3)
    with pytest.raises(ValueError, match="partners from the pool have no embeddings"):
        classes.loss(Staged(), X, torch.arange(N) % 3)
    assert ManifoldMixup().pairs.source == SKManifoldMixup().pairs.source == "batch"


POOLED = [Mixup(partners="pool"), RegMixup(partners="pool"), SKMixup(1.0, partners="pool")]
POOLED += [SKRegMixup(partners="pool"), SKMixup(partners="pool", space="input"), CMixup(bandwidth=10.0)]


class Tap(nn.Module):
    """Keeps its inputs; predicts their first entry."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[torch.Tensor] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen.append(x)
        return x[:, 0]


@pytest.mark.parametrize("method", POOLED)
@pytest.mark.parametrize("callable_pool", [False, True])
def test_partners_come_from_the_pool(method: Method, callable_pool: bool) -> None:
    """Mixed inputs are those of the pool's rows, augmented where a function fetches them."""
    shift = 1000.0 if callable_pool else 0.0
    fitted = method.fit((lambda index: POOL_X[index] + shift) if callable_pool else POOL_X, POOL_Y)
    y, model = torch.randn(N, generator=seeded(2)), Tap()
    plan = fitted.plan(X, y, generator=seeded(3))
    assert plan.partner.shape == (N,)
    assert plan.partner.max() < 20
    fitted.loss(model, X, y, plan=plan)
    lam = plan.lam[:, None]
    mixed = lam * X + (1 - lam) * (POOL_X + shift)[plan.partner]
    torch.testing.assert_close(torch.cat(model.seen)[-N:], mixed)


def test_targets_are_mixed_with_those_of_the_pool() -> None:
    fitted = Mixup(partners="pool", per="sample").fit(POOL_X, POOL_Y)
    y = torch.randn(N, generator=seeded(2))
    plan = fitted.plan(X, y, generator=seeded(3))
    x_mixed, y_mixed = fitted(X, y, plan=plan)
    torch.testing.assert_close(y_mixed, plan.lam * y + (1 - plan.lam) * POOL_Y[plan.partner])
    classes = Mixup(partners="pool", num_classes=3).fit(POOL_X, torch.full((20,), 2))
    _, rows = classes(X, torch.zeros(N, dtype=torch.int64), generator=seeded(3))
    torch.testing.assert_close(rows.sum(1), torch.ones(N))
    assert rows[:, 1].equal(torch.zeros(N))
    assert (rows[:, 2] > 0).all()
    assert x_mixed.mean() > X.mean()


def test_a_pool_is_never_written_to() -> None:
    kept, own = POOL_X.clone(), torch.ones(N, 4)
    y = torch.randn(N)
    for method in POOLED:
        method.fit(POOL_X, POOL_Y).loss(Tap(), X, y)
        method.fit(lambda index: own[: len(index)], POOL_Y).loss(Tap(), X, y)
    assert kept.equal(POOL_X)
    assert own.equal(torch.ones(N, 4))


def test_fit_leaves_the_method_itself_alone() -> None:
    method = CMixup()
    fitted = method.fit(POOL_X, POOL_Y)
    assert method.pool is None
    assert fitted.pool is not None
    assert len(fitted.pool) == 20
